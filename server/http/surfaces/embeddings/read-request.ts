/** Reads a request for embeddings: its entries, texts or token ids, and the fields that the gateway uses; others pass through. */
import { z } from 'zod'
import { GatewayError } from '#domain/errors.ts'
import { sizeOf, tokensOf } from '#domain/text-size.ts'
import { type Embed, NOT_GENERATED } from '#domain/work.ts'
import type { JsonBody } from '../../read/body.ts'
import { commonFields, userField } from '../read-common.ts'
import { readForm, readShared } from '../read-result-request.ts'

const MAX_ENTRIES = 2_048
const MAX_DIMENSIONS = 65_536
const MAX_TOKEN_ID = 2 ** 31 - 1

export const embeddingsForm = z.object({
  ...commonFields,
  input: z.unknown(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish(),
  user: userField,
})

/** @throws invalid_request, unsupported_parameter */
export function readEmbeddingsRequest(body: JsonBody): Embed {
  const read = readForm(embeddingsForm, body.fields)
  const measured = measure(read.input)
  return {
    ...NOT_GENERATED,
    kind: 'embed',
    dialect: 'embeddings',
    ...readShared(read, body.whole()),
    source: body,
    ...measured,
    encodingFormat: read.encoding_format ?? null,
    dimensions: read.dimensions ?? null,
  }
}

type Measured = Pick<Embed, 'input' | 'textBytes' | 'tokens' | 'longestTokens'>

/** The entries, and how much they are. @throws invalid_request */
function measure(input: unknown): Measured {
  if (typeof input === 'string') return measureTexts([input], () => 'input')
  if (!Array.isArray(input)) {
    throw invalid('input', 'must be a text, a list of texts, or lists of token ids')
  }
  if (input.length === 0) throw invalid('input', 'must hold at least one entry')
  if (typeof input[0] === 'number') return measureIds([input], () => 'input')
  if (input.length > MAX_ENTRIES) throw tooMany(input.length)
  const place = (i: number): string => `input[${i}]`
  return typeof input[0] === 'string' ? measureTexts(input, place) : measureIds(input, place)
}

const tooMany = (entries: number): GatewayError =>
  new GatewayError('invalid_request', `input may hold at most ${MAX_ENTRIES} entries`, {
    param: 'input',
    metadata: {
      limit: 'input_entries',
      limit_value: MAX_ENTRIES,
      used: entries,
      resets_at: null,
    },
  })

type Place = (index: number) => string

function measureTexts(input: readonly unknown[], place: Place): Measured {
  let textBytes = 0
  let tokens = 0
  let longestTokens = 0
  for (const [i, text] of input.entries()) {
    if (typeof text !== 'string') throw invalid(place(i), 'must be a text, as the first entry is')
    if (text === '') throw invalid(place(i), 'must not be empty')
    const size = sizeOf(text)
    const own = tokensOf(size)
    textBytes += size.bytes
    tokens += own
    longestTokens = Math.max(longestTokens, own)
  }
  return { input: input as readonly string[], textBytes, tokens, longestTokens }
}

function measureIds(input: readonly unknown[], place: Place): Measured {
  let tokens = 0
  let longestTokens = 0
  for (const [i, ids] of input.entries()) {
    if (!Array.isArray(ids)) throw invalid(place(i), 'must be a list of token ids')
    if (ids.length === 0) throw invalid(place(i), 'must not be empty')
    if (!ids.every(isTokenId)) throw invalid(place(i), 'must hold whole numbers: token ids')
    tokens += ids.length
    longestTokens = Math.max(longestTokens, ids.length)
  }
  // A token each, whatever their digits.
  return { input: input as readonly number[][], textBytes: tokens, tokens, longestTokens }
}

const isTokenId = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKEN_ID

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })
