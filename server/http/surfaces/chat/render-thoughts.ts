/**
 * Thoughts as `reasoning_details`, complete at the end of the message: a model wants them back unchanged. Also in the calls of
 * tools that follow them, because a client that rebuilds its messages may drop fields that it does not know, but no calls.
 */
import type { JsonObject, ToolCallDelta } from '#domain/chat.ts'
import { DETAIL_FORMATS } from '#domain/reasoning-details.ts'
import type { Thought } from '#domain/thought.ts'

/** The thoughts of one choice. */
export class Thoughts {
  private readonly details: JsonObject[] = []
  private attached = 0

  /** `before`: the parts of the message that came before it, in the order in which clients send them back: its text, its calls. */
  note(thought: Thought, before: number): void {
    this.details.push(toDetail(thought, this.details.length + before))
  }

  /** The call with the thoughts since the one before it. */
  attachTo(call: ToolCallDelta): ToolCallDelta {
    const fresh = this.details.slice(this.attached)
    if (call.id === undefined || fresh.length === 0) return call
    this.attached = this.details.length
    return { ...call, fields: { ...call.fields, reasoning_details: fresh } }
  }

  get fields(): JsonObject {
    return { reasoning_details: this.details }
  }
}

function toDetail(thought: Thought, index: number): JsonObject {
  switch (thought.type) {
    case 'thinking': {
      const { text, signature } = thought
      return { type: 'reasoning.text', text, signature, format: DETAIL_FORMATS.anthropic, index }
    }
    case 'redacted':
      return encrypted({ data: thought.data, format: DETAIL_FORMATS.anthropic, index })
    // Its summary has come as text.
    case 'reasoning': {
      const { id, encrypted: data } = thought
      return encrypted({ data, ...(id !== '' && { id }), format: DETAIL_FORMATS.openai, index })
    }
  }
}

const encrypted = (detail: JsonObject): JsonObject => ({ type: 'reasoning.encrypted', ...detail })
