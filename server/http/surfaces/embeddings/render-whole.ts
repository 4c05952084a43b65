/** The vectors of a walk in OpenAI's shape; or the provider's own text, where it has that shape. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Vector } from '#domain/result.ts'
import { promptTokens } from '#domain/usage.ts'
import type { Rendered, WholeRenderer } from '../surface.ts'

export class VectorFold implements WholeRenderer {
  private vectors: readonly Vector[] = []
  private asTheyCame: Rendered | null = null

  note(events: ChatEvents): void {
    for (const event of events) {
      if (event.type !== 'vectors') continue
      if ('vectors' in event) this.vectors = event.vectors
      else this.asTheyCame = event.asTheyCame
    }
  }

  render({ model }: AnswerHead, charge: Charge): Rendered {
    return this.asTheyCame ?? [JSON.stringify(toList(this.vectors, model, charge))]
  }
}

const toList = (vectors: readonly Vector[], model: string, { usage }: Charge) => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model,
  usage: { prompt_tokens: promptTokens(usage), total_tokens: promptTokens(usage) },
})
