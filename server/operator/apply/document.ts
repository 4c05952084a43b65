/** The schema of the configuration file: sections, fields, defaults. Unknown fields are refused. */

import * as z from 'zod/mini'
import { KEY_KINDS } from '#domain/key.ts'
import { isModelId, MAX_IMAGES_PER_ANSWER, type Prices } from '#domain/model-card.ts'
import { FREE, readRubPerUsd } from '#domain/money.ts'
import { isProviderName, OUTPUT_BOUNDS } from '#domain/provider.ts'
import { isMask, ROUTE_ORDERS } from '#domain/route.ts'
import {
  accountField,
  accountLimitsFields,
  accountNameField,
  keptNameField,
  keptNoteField,
  limitsFields,
  lineField,
  modifiersField,
  nameField,
  orNull,
  perMillionField,
  priceField,
  readAs,
  serverToolsField,
  timeField,
  upstreamField,
  usdField,
} from '#forms/fields.ts'
import { readEmail } from '#signin/register/email.ts'
import { ROLES } from '#signin/register/membership.ts'
import { addressesField, allowedField } from '../client-fields.ts'
import { credentialNameField, weightField } from '../credentials.ts'
import { demandExact } from '../exact-prices.ts'
import { emailsField, groupField } from '../groups.ts'
import { embeddingSpaceField, kindField, wiresField } from '../model-fields.ts'
import { aliasField } from '../models.ts'
import { noticeFields } from '../notice-settings.ts'
import { emailField } from '../threshold-fields.ts'

const MAX_ENTRIES = 100_000
const MAX_CHARS = 4_096

const textField = lineField(MAX_CHARS).check(z.minLength(1))
const countField = z.int('must be a whole number of at least 1').check(z.minimum(1))
const rankField = countField.check(z.maximum(1_000))
const modalityField = z.enum(['text', 'image', 'audio', 'video', 'file'])
const modalitiesField = z.array(modalityField).check(z.maxLength(5))

/** The name of an environment variable of the `apply` command; the file never contains the secret. */
const variableField = z
  .string()
  .check(z.regex(/^[A-Z_][A-Z0-9_]*$/, 'must be the name of a variable such as "OPENAI_API_KEY"'))

const priceDocument = z.strictObject({
  in_usd: z.optional(perMillionField),
  out_usd: z.optional(perMillionField),
  cached_in_usd: z.optional(perMillionField),
  cache_write_usd: z.optional(perMillionField),
  cache_write_1h_usd: z.optional(perMillionField),
  image_in_usd: z.optional(perMillionField),
  image_out_usd: z.optional(perMillionField),
  per_search_unit_usd: z.optional(priceField),
  per_request_usd: z.optional(priceField),
  per_input_image_usd: z.optional(priceField),
  per_image_usd: z.optional(
    z
      .array(
        z.strictObject({
          resolution: z._default(textField, '*'),
          quality: z._default(textField, '*'),
          usd: priceField,
        }),
      )
      .check(z.maxLength(64)),
  ),
  tiers: z.optional(
    z
      .array(
        z.strictObject({
          above_input_tokens: countField,
          in_usd: perMillionField,
          out_usd: perMillionField,
          cached_in_usd: z.optional(perMillionField),
          cache_write_usd: z.optional(perMillionField),
          cache_write_1h_usd: z.optional(perMillionField),
        }),
      )
      .check(z.maxLength(16)),
  ),
  server_tools: z.optional(serverToolsField),
  modifiers: z.optional(modifiersField),
})

export type PriceDocument = z.output<typeof priceDocument>

/** Absent prices are free, or null for those that fall back to another price. @throws invalid_request */
export const toPrices = (stated: PriceDocument): Prices =>
  demandExact({
    prompt: stated.in_usd ?? FREE,
    completion: stated.out_usd ?? FREE,
    cacheRead: stated.cached_in_usd ?? null,
    cacheWrite: stated.cache_write_usd ?? null,
    cacheWrite1h: stated.cache_write_1h_usd ?? null,
    request: stated.per_request_usd ?? FREE,
    searchUnit: stated.per_search_unit_usd ?? FREE,
    inputImage: stated.per_input_image_usd ?? FREE,
    imageInputToken: stated.image_in_usd ?? null,
    imageOutputToken: stated.image_out_usd ?? null,
    imagePrices: stated.per_image_usd ?? [],
    tiers: (stated.tiers ?? []).map((tier) => ({
      aboveTokens: tier.above_input_tokens,
      prompt: tier.in_usd,
      completion: tier.out_usd,
      cacheRead: tier.cached_in_usd ?? null,
      cacheWrite: tier.cache_write_usd ?? null,
      cacheWrite1h: tier.cache_write_1h_usd ?? null,
    })),
    serverTools: stated.server_tools ?? [],
    modifiers: stated.modifiers ?? [],
  })

const hopsField = z
  .array(
    z.strictObject({
      provider: z.string(),
      upstream: z.optional(upstreamField),
      position: z._default(rankField, 1),
      weight: z._default(rankField, 1),
    }),
  )
  .check(z.minLength(1), z.maxLength(16))

const orderField = z.enum(ROUTE_ORDERS)

const modelDocument = z.strictObject({
  id: z.string().check(z.refine(isModelId, 'must look like provider/model')),
  kind: z._default(kindField, 'generate'),
  embedding_space: z.optional(embeddingSpaceField),
  provider: z.optional(z.string()),
  upstream: z.optional(upstreamField),
  name: z.optional(textField),
  description: z._default(z.string().check(z.maxLength(MAX_CHARS)), ''),
  context_length: z.optional(countField),
  max_completion_tokens: z.optional(countField),
  images_per_answer: z._default(countField.check(z.maximum(MAX_IMAGES_PER_ANSWER)), 1),
  wires: z.optional(wiresField),
  input_modalities: z._default(modalitiesField, ['text', 'image']),
  output_modalities: z._default(modalitiesField, ['text']),
  supported_parameters: z._default(z.array(textField).check(z.maxLength(128)), ['max_tokens']),
  price: z.optional(priceDocument),
  route: z.optional(hopsField),
  route_order: z._default(orderField, 'weight'),
})

const keyDocument = z.strictObject({
  ...limitsFields,
  name: keptNameField,
  account: accountField,
  /** Needed when several keys of the account have the name. */
  id: z.optional(z.string()),
  kind: z._default(z.enum(KEY_KINDS), 'ordinary'),
  note: z.optional(keptNoteField),
  expires_at: z.optional(timeField),
  disabled: z._default(z.boolean(), false),
})

const sectionOf = <Entry extends z.ZodMiniType>(entry: Entry) =>
  z.optional(z.array(entry).check(z.maxLength(MAX_ENTRIES)))

/** The whole file. Sections that are absent are not changed. */
export const gatewayDocument = z.strictObject({
  rates: z.optional(
    z.strictObject({
      usd_rub: readAs(readRubPerUsd, 'a positive decimal of at most 6 places such as "92.50"'),
    }),
  ),
  /** Where and when the operator is told; an absent field is as on the first day. */
  notices: z.optional(z.strictObject(noticeFields)),
  accounts: sectionOf(
    z.strictObject({
      ...accountLimitsFields,
      name: accountNameField,
      threshold_usd: z.optional(usdField),
      email: z.optional(emailField),
      webhook_url: z.optional(z.string()),
      /** Absent: the usual amount. */
      member_daily_usd: z.optional(usdField),
    }),
  ),
  members: sectionOf(
    z.strictObject({
      account: accountField,
      email: readAs(readEmail, 'an e-mail address'),
      role: z.enum(ROLES),
    }),
  ),
  providers: sectionOf(
    z.strictObject({
      name: z.string().check(z.refine(isProviderName, 'must be lower-case letters and digits')),
      type: z.optional(z.string()),
      base_url: z.optional(z.string()),
      /** Absent for a provider without credential. */
      from_env: z.optional(variableField),
      /** Several, instead of `from_env`. */
      credentials: z.optional(
        z
          .array(
            z.strictObject({
              name: credentialNameField,
              weight: z._default(weightField, 1),
              from_env: variableField,
            }),
          )
          .check(z.minLength(1), z.maxLength(16)),
      ),
      /** Absent: by its type and address, until its refusals teach another. */
      output_bound: z.optional(z.enum(OUTPUT_BOUNDS)),
      /** Adds the provider's models from the built-in catalog, unless they exist. */
      catalog: z._default(z.boolean(), false),
    }),
  ),
  models: sectionOf(modelDocument),
  /** Of masks; the route of one model stands with it. */
  routes: sectionOf(
    z.strictObject({
      pattern: z
        .string()
        .check(z.refine(isMask, 'must be the beginning of ids and "*", such as "openai/*"')),
      order: z._default(orderField, 'weight'),
      hops: hopsField,
    }),
  ),
  aliases: sectionOf(z.strictObject({ name: aliasField, model: z.string() })),
  keys: sectionOf(keyDocument),
  clients: sectionOf(
    z.strictObject({
      name: nameField,
      /** Needed when several clients have the name. */
      id: z.optional(z.string()),
      redirect_uris: z._default(addressesField, []),
      logout_uris: z._default(addressesField, []),
      require_pkce: z._default(z.boolean(), true),
      public: z._default(z.boolean(), false),
      device: z._default(z.boolean(), false),
      backchannel_logout_uri: orNull(z.string()),
      id_token_claims: z._default(z.boolean(), true),
      /** Absent: everybody who can sign in. */
      allowed: z.optional(allowedField),
    }),
  ),
  groups: sectionOf(z.strictObject({ name: groupField, people: emailsField })),
})

/** The parsed file. */
export type GatewayDocument = z.output<typeof gatewayDocument>

/** The file before parsing, as `export` writes it. */
export type GatewayFile = z.input<typeof gatewayDocument>
