/** Lines of a TOML text, for errors: the parser reports none. */

interface Statement {
  /** From 1. */
  readonly line: number
  readonly start: number
  /** "keys", "0", "name": tables and members of lists by their keys and places. */
  readonly path: readonly string[]
}

/** "gateway.toml:12" */
export const inFile = (path: string, line: number | null): string =>
  line === null ? path : `${path}:${line}`

/** The line of a value by its path "keys.0.name", else of the innermost table that would contain it; null for neither. */
export function lineOf(text: string, path: readonly string[]): number | null {
  const all = statementsOf(text)
  const within = (one: readonly string[], other: readonly string[]): boolean =>
    other.every((key, index) => one[index] === key)
  const own = all.find((one) => within(one.path, path))
  const around = all
    .filter((one) => one.path.length > 0 && within(path, one.path))
    .toSorted((a, b) => b.path.length - a.path.length)
  return (own ?? around[0])?.line ?? null
}

/** The line of the first statement that makes the text no TOML; null where it is TOML. */
export function lineOfFault(text: string): number | null {
  const all = statementsOf(text)
  const isGood = (count: number): boolean => {
    try {
      Bun.TOML.parse(text.slice(0, all[count]?.start ?? text.length))
      return true
    } catch {
      return false
    }
  }
  // So many statements are good together; one more, and none is.
  let [good, bad] = [0, all.length]
  if (isGood(bad)) return null
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (isGood(middle)) good = middle
    else bad = middle
  }
  return all[good]?.line ?? null
}

const BLANK = /(?:\s|#[^\n]*)*/y
const HEADER = /(\[\[?)([^\]\n]*)\]{0,2}/y
const KEYS = /(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^=\n"'])+/y
const KEY = /"((?:\\.|[^"\\])*)"|'([^']*)'|[^\s."']+/g
/** A piece of a value: text in quotes, a comment, a bracket, the end of a line, or one other character. */
const PIECE =
  /"""(?:\\[\s\S]|[^\\])*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|[^"'#[\]{}\n]+|[\s\S]/y

function statementsOf(text: string): readonly Statement[] {
  const found: Statement[] = []
  /** How many members each list of tables has so far. */
  const lists = new Map<string, number>()
  let table: readonly string[] = []
  let at = 0
  let line = 1
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) return null
    at += match[0].length
    line += match[0].split('\n').length - 1
    return match
  }
  const toRestOfStatement = (): void => {
    let depth = 0
    while (at < text.length) {
      const [piece = ''] = take(PIECE) ?? []
      if (piece === '[' || piece === '{') depth++
      else if (piece === ']' || piece === '}') depth--
      else if (piece === '\n' && depth <= 0) return
    }
  }
  for (;;) {
    take(BLANK)
    if (at >= text.length) return found
    const begun = { line, start: at }
    const header = take(HEADER)
    if (header) {
      table = placeOf(keysOf(header[2] ?? ''), header[1] === '[[', lists)
      found.push({ ...begun, path: table })
    } else {
      found.push({ ...begun, path: [...table, ...keysOf(take(KEYS)?.[0] ?? '')] })
    }
    toRestOfStatement()
  }
}

const keysOf = (text: string): readonly string[] =>
  [...text.matchAll(KEY)].map(([bare, quoted, literal]) => quoted ?? literal ?? bare)

/** A table within a list of tables is in the last of them. */
function placeOf(
  keys: readonly string[],
  isMember: boolean,
  lists: Map<string, number>,
): readonly string[] {
  const path: string[] = []
  for (const [index, key] of keys.entries()) {
    path.push(key)
    const name = path.join('\n')
    if (isMember && index === keys.length - 1) lists.set(name, (lists.get(name) ?? 0) + 1)
    const members = lists.get(name)
    if (members !== undefined) path.push(String(members - 1))
  }
  return path
}
