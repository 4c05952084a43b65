/** Ours → theirs: a request for an order of documents, in Cohere's shape or in Voyage's. */
import type { JsonObject } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Rerank } from '#domain/work.ts'

type Sent = Pick<UpstreamCall, 'hop'>

/** The client's body without the words of Voyage, and with the texts of its documents. */
export function toCohereRerank({ hop }: Sent, request: Rerank): JsonObject {
  const { top_k: _, truncation: _truncation, ...others } = request.body
  return {
    ...others,
    model: hop.card.upstreamName,
    documents: request.documents,
    ...(request.isTopStated && { top_n: request.top }),
  }
}

/** The same without the words of Cohere. */
export function toVoyageRerank({ hop }: Sent, request: Rerank): JsonObject {
  const { top_n: _, max_tokens_per_doc: _most, rank_fields: _fields, ...others } = request.body
  return {
    ...others,
    model: hop.card.upstreamName,
    documents: request.documents,
    ...(request.isTopStated && { top_k: request.top }),
  }
}
