/** An entry of the catalog, and what is checked of one that comes from a file (docs/catalog.md). */
import * as z from 'zod/mini'
import { MODEL_KINDS } from '#domain/model-kind.ts'
import { perMillion, perThousand, readFactor, readPrice, type UsdAttos } from '#domain/money.ts'
import { OPENAI_WIRES } from '#domain/provider.ts'
import { embeddingSpaceField } from '../model-fields.ts'

const decimal = (isRead: (text: string) => boolean, expected: string) =>
  z.string().check(
    z.refine(isRead, {
      error: ({ input }) => `must be ${expected} (got "${String(input).slice(0, 40)}")`,
    }),
  )

/** A price of many units, which one of them has to divide without a rest. */
const priceOf = (toOne: (price: UsdAttos) => UsdAttos | undefined, expected: string) =>
  decimal((text) => {
    const price = readPrice(text)
    return price !== undefined && toOne(price) !== undefined
  }, expected)

const perMillionText = priceOf(
  perMillion,
  'a decimal price in dollars per million tokens, of at most 12 places, such as "2.50"',
)
const perCallsText = priceOf(
  perThousand,
  'a decimal price in dollars per thousand calls, of at most 15 places, such as "10"',
)
const priceText = priceOf(
  (price) => price,
  'a decimal price in dollars, of at most 18 places, such as "0.04"',
)
const factorText = decimal(
  (text) => readFactor(text) !== undefined,
  'a positive decimal of at most 6 places such as "1.5"',
)

const nameField = z.string().check(z.minLength(1), z.maxLength(256))
const countField = z.int().check(z.minimum(1))
const modalities = z.array(z.enum(['text', 'image', 'audio', 'video', 'file']))

const tokenPrices = {
  input: z.optional(perMillionText),
  output: z.optional(perMillionText),
  cache_read: z.optional(perMillionText),
  cache_write: z.optional(perMillionText),
  /** For an hour. */
  cache_write_1h: z.optional(perMillionText),
}

/** Prices are exact decimals in dollars, per million tokens or per image. */
export const catalogEntry = z.strictObject({
  /** Absent: generate. */
  kind: z.optional(z.enum(MODEL_KINDS)),
  embedding_space: z.optional(embeddingSpaceField),
  /** The provider type that serves it at this list price. */
  served_by: nameField,
  /** The provider's name for it. */
  model: nameField,
  name: nameField,
  /** A date or a month. */
  released: z.optional(z.string().check(z.regex(/^\d{4}-\d\d(-\d\d)?$/, 'must be a date'))),
  context_length: z.optional(countField),
  max_output_tokens: z.optional(countField),
  input: modalities,
  output: modalities,
  /** Of OpenAI's wires, those in which it answers; absent: those of its vendor. */
  wires: z.optional(z.array(z.enum(OPENAI_WIRES))),
  features: z.array(z.enum(['tools', 'structured_output', 'reasoning'])),
  usd_per_million: z.optional(
    z.strictObject({
      ...tokenPrices,
      output_image: z.optional(perMillionText),
      input_image: z.optional(perMillionText),
      /** Present when reasoning tokens have another price than output. */
      reasoning: z.optional(perMillionText),
    }),
  ),
  usd_per_search_unit: z.optional(priceText),
  tiers: z.optional(z.array(z.strictObject({ above_input_tokens: countField, ...tokenPrices }))),
  /** By the tool's name. */
  usd_per_thousand_calls: z.optional(z.record(z.string(), perCallsText)),
  /** Factors of the whole price, by `field=value`. */
  modifiers: z.optional(z.record(z.string(), factorText)),
  usd_per_image: z.optional(
    z.array(z.strictObject({ resolution: z.string(), quality: z.string(), usd: priceText })),
  ),
})

export type CatalogEntry = z.output<typeof catalogEntry>
