/** The order of documents in the client's shape, Cohere's or Voyage's; or the provider's own text, where it has that shape. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Ranked } from '#domain/result.ts'
import { promptTokens } from '#domain/usage.ts'
import type { Rerank, Work } from '#domain/work.ts'
import type { WholeRenderer } from '../surface.ts'

export class RankingFold implements WholeRenderer {
  private readonly work: Work
  private ranking: readonly Ranked[] = []
  private native: string | null = null

  constructor(work: Work) {
    this.work = work
  }

  note(events: ChatEvents): void {
    for (const event of events) {
      if (event.type === 'ranking') this.ranking = event.ranking
      else if (event.type === 'native') this.native = event.text
    }
  }

  render(head: AnswerHead, charge: Charge): readonly string[] {
    const { native, ranking, work } = this
    if (native !== null || work.kind !== 'rerank') return [native ?? '']
    const toBody = work.shape === 'cohere' ? toCohere : toVoyage
    return [JSON.stringify(toBody(ranking, work, head, charge))]
  }
}

const toCohere = (
  ranking: readonly Ranked[],
  { documents, returnsDocuments }: Rerank,
  { id }: AnswerHead,
  { usage }: Charge,
) => ({
  id,
  results: ranking.map(({ index, score }) => ({
    index,
    relevance_score: score,
    ...(returnsDocuments && { document: { text: documents[index] } }),
  })),
  meta: {
    api_version: { version: '2' },
    billed_units:
      usage.searchUnits > 0
        ? { search_units: usage.searchUnits }
        : { input_tokens: promptTokens(usage) },
  },
})

const toVoyage = (
  ranking: readonly Ranked[],
  { documents, returnsDocuments }: Rerank,
  { model }: AnswerHead,
  { usage }: Charge,
) => ({
  object: 'list',
  data: ranking.map(({ index, score }) => ({
    relevance_score: score,
    index,
    ...(returnsDocuments && { document: documents[index] }),
  })),
  model,
  usage: { total_tokens: promptTokens(usage) },
})
