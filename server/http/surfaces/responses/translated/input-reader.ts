/** Reads, as it comes, the one text that a custom tool takes out of the JSON with which a function is called for it. */

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export class InputReader {
  private json = ''
  /** What was read so far. */
  private text = ''
  /** Where in the JSON the rest of the text is; null before it begins. */
  private at: number | null = null
  private isOver = false

  /** What more of the text is sure. */
  feed(json: string): string {
    this.json += json
    if (this.at === null) {
      const opening = OPENING.exec(this.json)
      if (opening === null) return ''
      this.at = opening[0].length
    }
    const before = this.text.length
    while (!this.isOver && this.step());
    return this.text.slice(before)
  }

  /** The whole text: that of another shape of JSON too, and what is no JSON is the text itself. */
  end(): string {
    if (this.isOver) return this.text
    const whole = readInput(this.json)
    // What was shown stays: an answer that ended early has no more.
    return this.text !== '' && !whole.startsWith(this.text) ? this.text : whole
  }

  /** Reads one character, or all up to the next that means something. False where more has to come. */
  private step(): boolean {
    const { json } = this
    const at = this.at ?? 0
    const next = json.charAt(at)
    if (next === '') return false
    if (next === '"') {
      this.isOver = true
      return false
    }
    if (next !== '\\') {
      const rest = /^[^"\\]+/.exec(json.slice(at))?.[0] ?? ''
      return this.take(rest, rest.length)
    }
    const mark = json.charAt(at + 1)
    if (mark === '') return false
    if (mark !== 'u') return this.take(ESCAPES[mark] ?? mark, 2)
    const unit = Number.parseInt(json.slice(at + 2, at + 6), 16)
    if (json.length < at + 6) return false
    // The halves of one character come together.
    if (!isHigh(unit)) return this.take(String.fromCharCode(unit), 6)
    if (json.length < at + 12) return false
    if (!json.startsWith('\\u', at + 6)) return this.take(String.fromCharCode(unit), 6)
    const low = Number.parseInt(json.slice(at + 8, at + 12), 16)
    return this.take(String.fromCharCode(unit, low), 12)
  }

  private take(text: string, length: number): true {
    this.text += text
    this.at = (this.at ?? 0) + length
    return true
  }
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

function readInput(json: string): string {
  try {
    const read: unknown = JSON.parse(json)
    const { input } = read as { readonly input?: unknown }
    return typeof input === 'string' ? input : json
  } catch {
    return json
  }
}
