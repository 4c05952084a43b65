/** A JSON object looked through once: where its members stand, what bounds it, and a text that is shorter to parse. */
import { GatewayError } from '#domain/errors.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  decodeName,
  endOfString,
  MAX_DEPTH,
  type Member,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  skipSpaceBack,
} from '#domain/json-text.ts'

export interface Outline {
  /** The text without the long passages of its conversation: a full stop stands for each. */
  readonly text: string
  /** Whether there were any. */
  readonly isShorter: boolean
  /** Of the outermost object, in order; of a name that is repeated, each. */
  readonly members: readonly Member[]
  /** How many names its objects have, each time that one is written. */
  readonly names: number
}

/** Members of the outermost object that hold a conversation, and how its passages are called, which nothing here reads. */
const CONVERSATION: ReadonlySet<string> = new Set(['messages', 'input', 'system'])
const PASSAGES: ReadonlySet<string> = new Set([
  'text',
  'content',
  'thinking',
  'signature',
  'arguments',
  'output',
  'encrypted_content',
])
/** A shorter one is parsed as fast as it is left out. */
const LONG_CHARS = 256

/**
 * Object members and array elements in one body, nested ones included: far above any conversation, far below what exhausts
 * memory. A property name that no other object has costs the parser up to a microsecond.
 */
const MAX_VALUES = 250_000

/**
 * `text` may be anything: it is an object if what is left of it is one, because a passage that is left out is a string.
 * Thirty million brackets cost the parser two seconds and two gigabytes, and two million members two seconds, so that these are
 * counted. (An object or array has one value more than commas, so an opening bracket counts like one.) Strings are skipped with a
 * native search.
 * @throws invalid_request, SyntaxError
 */
export const outline = (text: string): Outline => new Reader(text).read()

class Reader {
  private readonly text: string
  private readonly members: Member[] = []
  private member: Omit<Member, 'end'> | null = null
  /** Whether that is one of a conversation. */
  private isSaid = false
  private depth = 0
  private values = 0
  private names = 0
  /** The last string: after a colon, the name. */
  private start = 0
  private end = 0
  private isNamed = false
  private readonly kept: string[] = []
  private keptFrom = 0

  constructor(text: string) {
    this.text = text
  }

  read(): Outline {
    const { text, members, kept } = this
    for (let at = 0; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          at = this.takeString(at)
          break
        case COLON:
          this.takeName(at)
          break
        case COMMA:
          if (this.depth === 1) this.closeMember(at)
          this.count()
          break
        case OPEN_BRACKET:
        case OPEN_BRACE:
          if (++this.depth > MAX_DEPTH) throw tooDeep()
          this.count()
          break
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          if (--this.depth === 0) this.closeMember(at)
      }
    }
    kept.push(text.slice(this.keptFrom))
    return { text: kept.join('.'), isShorter: kept.length > 1, members, names: this.names }
  }

  /** Answers where it ends. */
  private takeString(start: number): number {
    const { text } = this
    const end = endOfString(text, start)
    const isLong = end - start > LONG_CHARS && end < text.length
    if (isLong && this.isSaid && this.isNamed && this.isPassage()) {
      checkString(text.slice(start, end + 1))
      this.kept.push(text.slice(this.keptFrom, start + 1))
      this.keptFrom = end
    }
    this.isNamed = false
    this.start = start
    this.end = end
    return end
  }

  private isPassage(): boolean {
    return PASSAGES.has(this.text.slice(this.start + 1, this.end))
  }

  private takeName(colon: number): void {
    const { text, start } = this
    this.names++
    this.isNamed = true
    if (this.depth !== 1) return
    const name = decodeName(text.slice(start, this.end + 1))
    this.member = { name, start, valueStart: skipSpace(text, colon + 1) }
    this.isSaid = CONVERSATION.has(name)
  }

  private closeMember(at: number): void {
    const { text, member } = this
    if (member !== null) this.members.push({ ...member, end: skipSpaceBack(text, at) + 1 })
    this.member = null
    this.isSaid = false
  }

  private count(): void {
    this.isNamed = false
    if (++this.values > MAX_VALUES) throw tooWide()
  }
}

/**
 * What no string of JSON has: a control character, or an escape that is none. It also finds an escaped backslash before a letter.
 * The runtime looks for it in half the time in which it parses, and where nothing is escaped in a tenth.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are looked for.
const DUBIOUS = /[\0-\x1f]|\\(?:[^"\\/bfnrtu]|u(?![\da-fA-F]{4}))/

/** A wrong escape or a bare line break is refused here, and not by a provider. @throws SyntaxError */
function checkString(quoted: string): void {
  if (DUBIOUS.test(quoted)) JSON.parse(quoted)
}

export const tooDeep = (): GatewayError =>
  new GatewayError('invalid_request', `JSON may be nested ${MAX_DEPTH} levels deep at most`)

const tooWide = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    `a body may hold at most ${MAX_VALUES} members of objects and elements of arrays`,
  )
