/** Requests for embeddings and for rerank, and their answers: OpenAI's shape, Cohere's and Voyage's. */
import { z } from 'zod'
import type { embeddingsForm } from '../../surfaces/embeddings/read-request.ts'
import type { rerankForm } from '../../surfaces/rerank/read-request.ts'
import type { JsonSchema, Notes } from '../notes.ts'
import { CHAT_NOTES } from './chat-request.ts'
import { count, text } from './scalars.ts'

const { allow_fallbacks, provider, user } = CHAT_NOTES

export const EMBEDDINGS_NOTES: Notes<Omit<z.input<typeof embeddingsForm>, 'input'>> = {
  model: { description: '`<provider>/<model>`', examples: ['openai/text-embedding-3-small'] },
  stream: 'Never true: the answer comes whole',
  encoding_format:
    'How each vector is written: `float`, or `base64` of little-endian floats of 32 bits',
  dimensions: 'The length of the vectors, where the model has several',
  user,
  allow_fallbacks,
  models:
    'Fallback models, in order; only those with the same embedding space as the model are tried',
  provider,
}

export const INPUT: JsonSchema = {
  description: 'A text, or up to 2,048 texts; or token ids, or lists of them. None may be empty',
  anyOf: [
    { type: 'string', minLength: 1 },
    { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 2_048 },
    { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 },
    {
      type: 'array',
      items: { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 },
      minItems: 1,
      maxItems: 2_048,
    },
  ],
}

export const RERANK_NOTES: Notes<Omit<z.input<typeof rerankForm>, 'documents'>> = {
  model: { description: '`<provider>/<model>`', examples: ['cohere/rerank-v3.5'] },
  stream: 'Never true: the answer comes whole',
  query: 'What the documents are ranked by',
  top_n: 'How many documents to return; all without it',
  top_k: "The same in Voyage's words; the answer then has Voyage's shape",
  return_documents: 'Whether each result repeats its document',
  truncation: 'Whether Voyage may cut long documents',
  user,
  allow_fallbacks,
  models: 'Fallback models, in order',
  provider,
}

export const DOCUMENTS: JsonSchema = {
  description: 'Up to 1,000 documents: texts, or objects with a `text`',
  type: 'array',
  minItems: 1,
  maxItems: 1_000,
  items: {
    anyOf: [
      { type: 'string' },
      { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    ],
  },
}

export const embeddings = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(
      z.looseObject({
        object: z.literal('embedding'),
        index: count('The place of its entry in `input`'),
        embedding: z.union([z.array(z.number()), z.string()]).describe('The vector'),
      }),
    ),
    model: z.string(),
    usage: z
      .looseObject({
        prompt_tokens: count('The same').exactOptional(),
        total_tokens: count('Tokens of all entries'),
      })
      .exactOptional(),
  })
  .describe(
    "A vector for each entry. Where the provider speaks OpenAI's API, its own text; the cost is in the receipt.",
  )

const ranked = z.looseObject({
  index: count('The place of the document in the request'),
  relevance_score: z.number(),
})

export const ranking = z
  .looseObject({
    id: text('Of the answer').exactOptional(),
    object: z.literal('list').exactOptional(),
    results: z.array(ranked).exactOptional(),
    data: z.array(ranked).exactOptional(),
    model: z.string().exactOptional(),
    meta: z
      .looseObject({
        api_version: z.looseObject({ version: z.string() }).exactOptional(),
        billed_units: z
          .looseObject({
            search_units: count('Search units').exactOptional(),
            input_tokens: count('Input tokens').exactOptional(),
          })
          .exactOptional(),
      })
      .exactOptional(),
    usage: z.looseObject({ total_tokens: count('Tokens').exactOptional() }).exactOptional(),
  })
  .describe(
    'The most relevant documents first: `results` and `meta.billed_units` as Cohere has it, or `data` and `usage` as Voyage does.',
  )
