/** An entity: one thing that a file can configure, as plain fields that can be compared. */
import type { Account } from '#domain/account.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { renderAccountLimits, renderLimits } from '#domain/limits.ts'
import type { Threshold } from '#domain/low-balance.ts'
import {
  type CardFacts,
  factsOf,
  type ModelAlias,
  type ModelCard,
  ownRoute,
  type PriceVersion,
  priceAt,
} from '#domain/model-card.ts'
import { type RubPerUsd, renderRubPerUsd, renderUsd } from '#domain/money.ts'
import { DEFAULT_NOTICE_SETTINGS, type NoticeSettings } from '#domain/notice-settings.ts'
import { type Credential, DEFAULT_CREDENTIAL, type Provider } from '#domain/provider.ts'
import type { Route } from '#domain/route.ts'
import type { Client } from '#signin/register/client.ts'
import { emailKey } from '#signin/register/email.ts'
import type { Role } from '#signin/register/membership.ts'
import type { ClientShape } from '../clients.ts'
import { inOrder, renderHop } from '../hop-record.ts'
import { renderVersion } from '../model-record.ts'
import { renderNoticeSettings } from '../notice-settings.ts'

/** In the order of creation, because later kinds refer to earlier ones. */
export const KINDS = [
  'rate',
  'notices',
  'account',
  'member',
  'provider',
  'model',
  'route',
  'alias',
  'key',
  'client',
  'group',
] as const

/** The built-in provider; a file cannot configure it or its models. */
export const DEMO = 'demo'

export type Kind = (typeof KINDS)[number]

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [name: string]: Value }

export type Fields = { readonly [field: string]: Value }

export interface Entity {
  readonly kind: Kind
  /** Unique within its kind: `default/prod-web` for a key. */
  readonly name: string
  /** All fields; unset ones are null. */
  readonly fields: Fields
  /** The id of an existing key or client; null for others. */
  readonly id: string | null
  /** Of a model: the same as a domain object. */
  readonly card?: ModelCard
}

export const rateEntity = (rubPerUsd: RubPerUsd): Entity => ({
  kind: 'rate',
  name: 'USD/RUB',
  fields: { rub_per_usd: renderRubPerUsd(rubPerUsd) },
  id: null,
})

/** What is as on the first day is not set. */
export function noticesEntity(settings: NoticeSettings): Entity {
  const { ceiling_percents, wakes_for_critical, ...rest } = renderNoticeSettings(settings)
  const usual = JSON.stringify(DEFAULT_NOTICE_SETTINGS.ceilingPercents)
  return {
    kind: 'notices',
    name: 'operator',
    fields: {
      ...rest,
      ceiling_percents: JSON.stringify(ceiling_percents) === usual ? null : ceiling_percents,
      wakes_for_critical: wakes_for_critical || null,
    },
    id: null,
  }
}

export const accountEntity = (
  { name, memberDaily, limits }: Pick<Account, 'name' | 'memberDaily' | 'limits'>,
  { below, email, webhookUrl }: Omit<Threshold, 'accountId'>,
): Entity => ({
  kind: 'account',
  name,
  fields: {
    threshold_usd: renderUsd(below),
    email,
    webhook_url: webhookUrl,
    member_daily_usd: renderUsd(memberDaily),
    ...renderAccountLimits(limits),
  },
  id: null,
})

/** Addresses are compared without regard to case. */
export const memberEntity = (account: string, email: string, role: Role): Entity => ({
  kind: 'member',
  name: `${account}/${emailKey(email)}`,
  fields: { account, email: emailKey(email), role },
  id: null,
})

export const providerEntity = ({
  name,
  type,
  baseUrl,
  credentials,
  outputBound,
}: Omit<Provider, 'learnedBound' | 'createdAt' | 'revision'>): Entity => ({
  kind: 'provider',
  name,
  fields: {
    type,
    base_url: baseUrl,
    has_credential: credentials.length > 0,
    credentials:
      credentials.length === 0 || (credentials.length === 1 && isDefault(credentials[0]))
        ? null
        : credentials.map(({ name: title, weight }) => ({ name: title, weight })),
    output_bound: outputBound,
  },
  id: null,
})

/** The one that a file states by `from_env` alone. */
const isDefault = (credential: Credential | undefined): boolean =>
  credential?.name === DEFAULT_CREDENTIAL && credential.weight === 1

/** The model fields other than prices and route, and what a card calls each. */
const CARD_FIELDS = {
  kind: 'kind',
  embedding_space: 'embeddingSpace',
  provider: 'provider',
  upstream: 'upstreamName',
  name: 'name',
  description: 'description',
  context_length: 'contextLength',
  max_completion_tokens: 'maxCompletionTokens',
  images_per_answer: 'imagesPerAnswer',
  wires: 'wires',
  input_modalities: 'inputModalities',
  output_modalities: 'outputModalities',
  supported_parameters: 'supportedParameters',
} as const satisfies Readonly<Record<string, keyof CardFacts>>

export const isCardField = (field: string): field is keyof typeof CARD_FIELDS =>
  Object.hasOwn(CARD_FIELDS, field)

/** What a file changes of a card, and whose bounds it leaves: another's edit of anything else stays. */
export function changedFacts(
  card: ModelCard,
  fields: readonly (keyof typeof CARD_FIELDS)[],
): Partial<CardFacts> {
  const changed = new Set<string>(['isCatalogued', ...fields.map((field) => CARD_FIELDS[field])])
  return Object.fromEntries(Object.entries(factsOf(card)).filter(([name]) => changed.has(name)))
}

export const modelEntity = (card: ModelCard, at: Instant): Entity => ({
  kind: 'model',
  name: card.id,
  fields: {
    ...Object.fromEntries(Object.entries(CARD_FIELDS).map(([field, name]) => [field, card[name]])),
    kind: card.kind === 'generate' ? null : card.kind,
    images_per_answer: card.imagesPerAnswer === 1 ? null : card.imagesPerAnswer,
    ...modelRouteFields(ownRoute(card)),
    ...priceFields(priceAt(card, at)),
  },
  id: null,
  card,
})

const modelRouteFields = (route: Route | null): Fields => ({
  route: route && hopFields(route),
  // By weight is what nobody states.
  route_order: route === null || route.order === 'weight' ? null : route.order,
})

/** The route of a mask. */
export const routeEntity = (route: Route): Entity => ({
  kind: 'route',
  name: route.pattern,
  fields: { order: route.order === 'weight' ? null : route.order, hops: hopFields(route) },
  id: null,
})

const hopFields = ({ hops }: Route): Value => inOrder(hops.map(renderHop)).map(toFields)

export const aliasEntity = ({ name, model }: ModelAlias): Entity => ({
  kind: 'alias',
  name,
  fields: { model },
  id: null,
})

const toFields = (record: object): Fields => ({ ...record }) as Fields

const PRICE_FIELDS = [
  'in_usd',
  'out_usd',
  'cached_in_usd',
  'cache_write_usd',
  'cache_write_1h_usd',
  'image_in_usd',
  'image_out_usd',
  'per_search_unit_usd',
  'per_request_usd',
  'per_input_image_usd',
] as const

const FREE_BY_DEFAULT: readonly string[] = [
  'per_search_unit_usd',
  'per_request_usd',
  'per_input_image_usd',
]

/** Names in another order are no change. */
const byName = (named: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Each prefixed with `price.`; all null without a price. */
function priceFields(price: PriceVersion | null): Fields {
  const record = price && renderVersion(price)
  const plain = PRICE_FIELDS.map((field): [string, Value] => {
    const value = record?.[field] ?? null
    return [`price.${field}`, value === '0' && FREE_BY_DEFAULT.includes(field) ? null : value]
  })
  const listed = (['per_image_usd', 'tiers'] as const).map((field): [string, Value] => [
    `price.${field}`,
    record && record[field].length > 0 ? record[field].map(toFields) : null,
  ])
  const named = (['server_tools', 'modifiers'] as const).map((field): [string, Value] => [
    `price.${field}`,
    record && Object.keys(record[field]).length > 0 ? byName(record[field]) : null,
  ])
  return Object.fromEntries([...plain, ...listed, ...named])
}

export const isPriceField = (field: string): boolean => field.startsWith('price.')

/** The properties of a key that a file can configure. */
export type KeyFacts = Pick<ApiKey, 'name' | 'kind' | 'note' | 'limits' | 'expiresAt'> & {
  readonly isDisabled: boolean
}

/** `title` is the key's name, or its id when several have that name. */
export const keyEntity = (
  account: string,
  title: string,
  id: string | null,
  { name, kind, note, limits, expiresAt, isDisabled }: KeyFacts,
): Entity => ({
  kind: 'key',
  name: `${account}/${title}`,
  fields: {
    account,
    name,
    kind,
    note,
    ...renderLimits(limits),
    expires_at: renderInstant(expiresAt),
    disabled: isDisabled,
  },
  id,
})

export const clientEntity = (
  title: string,
  id: string | null,
  client: Pick<Client, 'name' | 'access' | 'backchannelLogoutUri' | 'hasIdTokenClaims'> &
    ClientShape,
): Entity => ({
  kind: 'client',
  name: title,
  fields: {
    name: client.name,
    redirect_uris: client.redirectUris,
    logout_uris: client.logoutUris,
    require_pkce: client.requiresPkce,
    public: client.isPublic,
    device: client.isForDevices,
    backchannel_logout_uri: client.backchannelLogoutUri,
    id_token_claims: client.hasIdTokenClaims,
    allowed: client.access === 'everybody' ? null : client.access,
  },
  id,
})

/** Its people by their addresses, in alphabetical order. */
export const groupEntity = (name: string, people: readonly string[]): Entity => ({
  kind: 'group',
  name,
  fields: { people: [...new Set(people.map(emailKey))].sort() },
  id: null,
})
