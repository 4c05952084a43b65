/** The content of a streamed answer as blocks: one after another, each closed before the next opens, and no delta lost. */
import { createHash } from 'node:crypto'
import type { ToolCallDelta } from '#domain/chat.ts'
import { frame } from '../frame.ts'
import { isObjectText, toInputText } from './to-input.ts'

interface Block {
  readonly type: 'text' | 'thinking' | 'tool_use'
  readonly id?: string
  /** Of a tool; may arrive after its first arguments. */
  name?: string | undefined
  /** What no frame has yet. */
  unsent: string
  /** The arguments of a call so far; empty for others. */
  arguments: string
  /** Its place in the answer; null until something of it can be seen. */
  index: number | null
  isClosed: boolean
}

/**
 * One block is open at a time. Another begins when that is whole; what comes before then waits: providers may send the arguments
 * of parallel calls in turns. A class, because every stream has one.
 */
export class ContentBlocks {
  private readonly calls = new Map<number, Block>()
  private readonly ids = new ToolIds()
  private waiting: Block[] = []
  private open: Block | null = null
  private count = 0

  /** Whether the answer calls a tool. */
  get called(): boolean {
    return this.calls.size > 0
  }

  say(type: 'text' | 'thinking', text: string): string {
    const last = this.waiting.at(-1) ?? this.open
    return last?.type === type ? this.extend(last, text) : this.begin(toBlock({ type }), text)
  }

  call({ index, id, name, arguments: text }: ToolCallDelta): string {
    const known = this.calls.get(index)
    if (known !== undefined) {
      known.name ??= name
      return this.extend(known, text)
    }
    const call = toBlock({ type: 'tool_use', id: this.ids.next(id), name })
    this.calls.set(index, call)
    return this.begin(call, text)
  }

  /** Nothing of the answer is missing any more. */
  end(): string {
    let text = this.close()
    for (const block of this.waiting) {
      this.open = block
      text += this.show(block) + this.close()
    }
    this.waiting = []
    return text
  }

  private begin(block: Block, text: string): string {
    add(block, text)
    if (this.waiting.length > 0 || (this.open !== null && !isWhole(this.open))) {
      this.waiting.push(block)
      return ''
    }
    const closing = this.close()
    this.open = block
    return closing + this.show(block)
  }

  private extend(block: Block, text: string): string {
    // Of a call that was whole, nothing can follow.
    if (block.isClosed) return ''
    add(block, text)
    return block === this.open ? this.show(block) : ''
  }

  /** The frames of what was not sent yet. A blank text, a call without a name, and arguments that are no object wait for the rest. */
  private show(block: Block): string {
    const { type, unsent } = block
    const isBlank = block.index === null && unsent.trim() === ''
    if (type === 'tool_use' ? block.name === undefined : isBlank) return ''
    const opening = block.index === null ? this.start(block) : ''
    if (unsent === '' || (type === 'tool_use' && !isObjectText(block.arguments))) return opening
    block.unsent = ''
    return opening + renderDelta(block, unsent)
  }

  private start(block: Block): string {
    block.index = this.count++
    const { type, id, name, index } = block
    const content = type === 'tool_use' ? { type, id, name, input: {} } : EMPTY[type]
    return frame(
      'content_block_start',
      JSON.stringify({ type: 'content_block_start', index, content_block: content }),
    )
  }

  private close(): string {
    const { open } = this
    if (open === null) return ''
    this.open = null
    open.isClosed = true
    let text = ''
    if (open.type === 'tool_use') {
      open.name ??= ''
      if (!isObjectText(open.arguments)) {
        open.arguments = toInputText(open.arguments)
        open.unsent = open.arguments
      }
      text = this.show(open)
    }
    if (open.index === null) return ''
    return `${text}${frame('content_block_stop', `{"type":"content_block_stop","index":${open.index}}`)}`
  }
}

const EMPTY = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
} as const

const toBlock = (block: Pick<Block, 'type' | 'id' | 'name'>): Block => ({
  ...block,
  unsent: '',
  arguments: '',
  index: null,
  isClosed: false,
})

function add(block: Block, text: string): void {
  block.unsent += text
  if (block.type === 'tool_use') block.arguments += text
}

/** A call is, once its arguments are a JSON text. */
function isWhole({ type, arguments: text }: Block): boolean {
  if (type !== 'tool_use') return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function renderDelta({ type, index }: Block, text: string): string {
  const said = JSON.stringify(text)
  return frame(
    'content_block_delta',
    `{"type":"content_block_delta","index":${index},"delta":${DELTAS[type]}${said}}}`,
  )
}

const DELTAS = {
  text: '{"type":"text_delta","text":',
  thinking: '{"type":"thinking_delta","thinking":',
  tool_use: '{"type":"input_json_delta","partial_json":',
} as const

/** Ids of calls that Anthropic's API takes in the next turn, each of them once in an answer. */
export class ToolIds {
  private readonly given = new Set<string>()

  /** The provider's own, where it can be kept. */
  next(id = ''): string {
    const own = PLAIN.test(id) && !this.given.has(id)
    const given = own ? id : `toolu_${hash(this.given.has(id) || id === '' ? newSalt(id) : id)}`
    this.given.add(id)
    this.given.add(given)
    return given
  }
}

const PLAIN = /^[\w-]{1,64}$/
const hash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
const HASH_CHARS = 24

/** For an id that does not tell two calls apart. */
const newSalt = (id: string): string => `${id}\n${crypto.randomUUID()}`
