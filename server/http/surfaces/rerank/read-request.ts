/** Reads a request for an order of documents: Cohere's (`top_n`) or Voyage's (`top_k`); other fields pass through. */
import { z } from 'zod'
import { GatewayError } from '#domain/errors.ts'
import { sizeOf, tokensOf } from '#domain/text-size.ts'
import { NOT_GENERATED, type Rerank } from '#domain/work.ts'
import type { JsonBody } from '../../read/body.ts'
import { commonFields, userField } from '../read-common.ts'
import { readForm, readShared } from '../read-result-request.ts'

const MAX_DOCUMENTS = 1_000

const top = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)
  .nullish()

export const rerankForm = z.object({
  ...commonFields,
  query: z.string().min(1),
  documents: z.unknown(),
  top_n: top,
  top_k: top,
  return_documents: z.boolean().nullish(),
  truncation: z.boolean().nullish(),
  user: userField,
})

/** @throws invalid_request, unsupported_parameter */
export function readRerankRequest(body: JsonBody): Rerank {
  const read = readForm(rerankForm, body.fields)
  const documents = readDocuments(read.documents)
  const { top_n, top_k, truncation } = read
  const stated = top_n ?? top_k ?? null
  const isVoyage =
    (top_n ?? null) === null && ((top_k ?? null) !== null || truncation !== undefined)
  return {
    ...NOT_GENERATED,
    kind: 'rerank',
    dialect: 'rerank',
    ...readShared(read, body.whole()),
    query: read.query,
    documents,
    top: Math.min(stated ?? documents.length, documents.length),
    isTopStated: stated !== null,
    shape: isVoyage ? 'voyage' : 'cohere',
    returnsDocuments: read.return_documents ?? false,
    ...measure(read.query, documents),
  }
}

/** @throws invalid_request */
function readDocuments(documents: unknown): readonly string[] {
  if (!Array.isArray(documents)) throw invalid('documents', 'must be a list of texts')
  if (documents.length === 0) throw invalid('documents', 'must hold at least one document')
  if (documents.length > MAX_DOCUMENTS) throw tooMany(documents.length)
  return documents.map((document, i) => {
    const text = typeof document === 'string' ? document : document?.text
    if (typeof text === 'string') return text
    throw invalid(`documents[${i}]`, 'must be a text, or an object with a text')
  })
}

const tooMany = (documents: number): GatewayError =>
  new GatewayError('invalid_request', `documents may hold at most ${MAX_DOCUMENTS}`, {
    param: 'documents',
    metadata: {
      limit: 'documents',
      limit_value: MAX_DOCUMENTS,
      used: documents,
      resets_at: null,
    },
  })

/** A document with its query is read in chunks of so many tokens, and a hundred chunks are a search unit. */
const CHUNK_TOKENS = 500
const UNIT_CHUNKS = 100

type Measured = Pick<Rerank, 'textBytes' | 'textSize' | 'mostSearchUnits' | 'searchUnits'>

/** The query counts once for each document, as the vendors bill it. */
function measure(query: string, documents: readonly string[]): Measured {
  const asked = sizeOf(query)
  let bytes = 0
  let dense = 0
  let most = 0
  let chunks = 0
  for (const document of documents) {
    const own = sizeOf(document)
    const size = { bytes: own.bytes + asked.bytes, dense: own.dense + asked.dense }
    bytes += size.bytes
    dense += size.dense
    most += chunksOf(size.bytes)
    chunks += chunksOf(tokensOf(size))
  }
  return {
    textBytes: bytes,
    textSize: { bytes, dense },
    mostSearchUnits: Math.ceil(most / UNIT_CHUNKS),
    searchUnits: Math.ceil(chunks / UNIT_CHUNKS),
  }
}

const chunksOf = (tokens: number): number => Math.max(1, Math.ceil(tokens / CHUNK_TOKENS))

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })
