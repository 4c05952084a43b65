/** A whole answer of a provider of another dialect, as a `message`. */
import type { AnswerHead, ChatEvent, ChatEvents, JsonObject } from '#domain/chat.ts'
import { parseExactly } from '#domain/json.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import { insertCost } from '../../insert-cost.ts'
import type { WholeRenderer } from '../../surface.ts'
import { showsThinking } from '../read-reasoning.ts'
import { renderUsage } from '../render-usage.ts'
import { ToolIds } from './content-blocks.ts'
import { Ending } from './ending.ts'
import { renderMessage } from './render-message.ts'
import { toInputText } from './to-input.ts'

interface Said {
  readonly type: 'text' | 'thinking'
  text: string
}

interface Called {
  readonly type: 'tool_use'
  readonly id: string
  name: string | undefined
  arguments: string
}

export class TranslatedFold implements WholeRenderer {
  private readonly work: Work
  private readonly thinks: boolean
  private readonly parts: (Said | Called)[] = []
  private readonly calls = new Map<number, Called>()
  private readonly ids = new ToolIds()
  private readonly ending: Ending

  constructor(work: Work) {
    this.work = work
    this.thinks = showsThinking(work)
    this.ending = new Ending(work)
  }

  note(events: ChatEvents): void {
    for (const event of events) this.take(event)
  }

  render(head: AnswerHead, charge: Charge): readonly string[] {
    const content = this.parts.flatMap(toBlocks)
    const ending = this.ending.render(this.calls.size > 0)
    const text = JSON.stringify(renderMessage(head, content, ending, renderUsage(charge)))
    return [this.work.includeUsage ? insertCost(text, ['usage'], charge) : text]
  }

  private take(event: ChatEvent): void {
    this.ending.note(event)
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.say('text', event.text)
        break
      case 'reasoning-delta':
        if (this.thinks) this.say('thinking', event.text)
        break
      case 'tool-call-delta':
        this.call(event)
        break
      default:
        break
    }
  }

  private say(type: Said['type'], text: string): void {
    const last = this.parts.at(-1)
    if (last?.type === type) last.text += text
    else this.parts.push({ type, text })
  }

  private call({
    index,
    id,
    name,
    arguments: text,
  }: Extract<ChatEvent, { type: 'tool-call-delta' }>): void {
    let call = this.calls.get(index)
    if (call === undefined) {
      call = { type: 'tool_use', id: this.ids.next(id), name, arguments: '' }
      this.calls.set(index, call)
      this.parts.push(call)
    }
    call.name ??= name
    call.arguments += text
  }
}

/** None for a blank text, which Anthropic's API would refuse in the next turn. */
function toBlocks(part: Said | Called): readonly JsonObject[] {
  if (part.type === 'tool_use') {
    const { type, id, name = '' } = part
    return [{ type, id, name, input: toInput(part.arguments) }]
  }
  const { type, text } = part
  if (text.trim() === '') return []
  return [type === 'text' ? { type, text } : { type, thinking: text, signature: '' }]
}

/** Arguments that were cut off are kept as a text. */
function toInput(text: string): unknown {
  const input = toInputText(text)
  try {
    return parseExactly(input)
  } catch {
    return { input: text }
  }
}
