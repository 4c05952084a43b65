/** What a file states, as the same entities that `current.ts` makes of the store. */
import { accountClosed } from '#domain/account.ts'
import type { Instant } from '#domain/clock.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { type ModelCard, UNROUTED } from '#domain/model-card.ts'
import type { ModelKind } from '#domain/model-kind.ts'
import { FREE } from '#domain/money.ts'
import { DEFAULT_NOTICE_SETTINGS } from '#domain/notice-settings.ts'
import { type Credential, DEFAULT_CREDENTIAL } from '#domain/provider.ts'
import { OWN, type RouteHop } from '#domain/route.ts'
import { holdsSecret } from '#domain/secret.ts'
import { HOLDS_KEY, statedLimits } from '#forms/fields.ts'
import { requireKeyName } from '#forms/key-warnings.ts'
import { catalogOf, isFromCatalog, toCard } from '../catalog.ts'
import { readLogoutUri, requireSound } from '../clients.ts'
import type { OperatorDeps } from '../deps.ts'
import { priceProblem } from '../model-fields.ts'
import { requireEmbedding } from '../models.ts'
import { toNoticeChange } from '../notice-settings.ts'
import { baseUrlFor } from '../provider-address.ts'
import { outputBoundFor, typeFor } from '../providers.ts'
import { readWebhookUrl } from '../threshold-fields.ts'
import { invalidInput } from '../verb.ts'
import { type GatewayDocument, type PriceDocument, toPrices } from './document.ts'
import {
  accountEntity,
  aliasEntity,
  clientEntity,
  DEMO,
  type Entity,
  groupEntity,
  type Kind,
  keyEntity,
  memberEntity,
  modelEntity,
  noticesEntity,
  providerEntity,
  rateEntity,
  routeEntity,
} from './entity.ts'
import { byRef, entityRef } from './plan.ts'

type Entry<Section extends keyof GatewayDocument> =
  NonNullable<GatewayDocument[Section]> extends readonly (infer One)[] ? One : never

/** @throws invalid_request, whose `param` is the path in the file */
export async function readDesired(
  deps: OperatorDeps,
  document: GatewayDocument,
  current: readonly Entity[],
): Promise<readonly Entity[]> {
  const at = deps.clock.now()
  const { rates, notices, accounts = [], members = [], providers = [], models = [] } = document
  const { routes = [], aliases = [], keys = [], clients = [], groups = [] } = document
  const stated = [
    ...(rates ? [rateEntity(rates.usd_rub)] : []),
    ...(notices ? [desiredNotices(deps, notices)] : []),
    ...accounts.map((entry, n) => desiredAccount(deps, entry, n)),
    ...members.map(({ account, email, role }) => memberEntity(account, email, role)),
    ...providers.map(desiredProvider),
    ...(await desiredModels(models, providers, current, at)),
    ...routes.map(desiredRoute),
    ...aliases.map(aliasEntity),
    ...keys.map((entry, n) => desiredKey(entry, n, current)),
    ...clients.map((entry, n) => desiredClient(deps, entry, n, current)),
    ...groups.map(({ name, people }) => groupEntity(name, people)),
  ]
  refuseDuplicates(stated)
  await refuseClosed(deps, document)
  refuseKindChange(stated, current)
  refuseAmbiguousNames(stated, current)
  refuseNewNames(stated, current)
  requireFutureExpiry(keys, stated, current, at)
  return [...stated, ...(await fromCatalog(providers, stated, current, at))]
}

/** Its books stay under its name, which no other account gets. @throws account_closed */
async function refuseClosed({ store }: OperatorDeps, document: GatewayDocument): Promise<void> {
  const { accounts = [], members = [], keys = [] } = document
  const stated = new Set([
    ...accounts.map(({ name }) => name),
    ...members.map(ownerOf),
    ...keys.map(ownerOf),
  ])
  const closed = (await store.accounts.list()).find(
    ({ name, closedAt }) => closedAt !== null && stated.has(name),
  )
  if (closed !== undefined) throw accountClosed(closed)
}

const ownerOf = ({ account }: { readonly account: string }): string => account

/** The kinds whose section the file has. */
export const sectionsOf = (document: GatewayDocument): ReadonlySet<Kind> =>
  new Set(
    (
      [
        ['rates', 'rate'],
        ['notices', 'notices'],
        ['accounts', 'account'],
        ['members', 'member'],
        ['providers', 'provider'],
        ['models', 'model'],
        ['routes', 'route'],
        ['aliases', 'alias'],
        ['keys', 'key'],
        ['clients', 'client'],
        ['groups', 'group'],
      ] as const
    ).flatMap(([section, kind]) => (document[section] === undefined ? [] : [kind])),
  )

function desiredNotices(
  { delivery }: OperatorDeps,
  stated: NonNullable<GatewayDocument['notices']>,
): Entity {
  try {
    const change = toNoticeChange(stated, delivery.loopbackWebhooks)
    return noticesEntity({ ...DEFAULT_NOTICE_SETTINGS, ...change })
  } catch (thrown) {
    throw invalidInput('notices', thrown instanceof Error ? thrown.message : String(thrown))
  }
}

function desiredAccount({ delivery }: OperatorDeps, entry: Entry<'accounts'>, n: number): Entity {
  const { name, threshold_usd, email, webhook_url, member_daily_usd } = entry
  let webhookUrl: string | null = null
  try {
    if (webhook_url !== undefined) {
      webhookUrl = readWebhookUrl(webhook_url, delivery.loopbackWebhooks)
    }
  } catch (thrown) {
    throw invalidInput(`accounts.${n}`, thrown instanceof Error ? thrown.message : String(thrown))
  }
  const threshold = { below: threshold_usd ?? null, email: email ?? null, webhookUrl }
  const limits = { ...NO_LIMITS, ...statedLimits(entry) }
  return accountEntity({ name, memberDaily: member_daily_usd ?? null, limits }, threshold)
}

function desiredProvider(
  { name, type, base_url, from_env, credentials, output_bound }: Entry<'providers'>,
  n: number,
): Entity {
  if (name === DEMO || type === DEMO) {
    throw invalidInput(`providers.${n}`, 'the demo provider is built in; a file does not state it')
  }
  const known = typeFor(name, type, base_url)
  const baseUrl = baseUrlFor(known, { base_url })
  return providerEntity({
    name,
    type: known,
    baseUrl,
    credentials: statedCredentials({ from_env, credentials }, n),
    outputBound: outputBoundFor(known, output_bound),
  })
}

/** In the order of names. @throws invalid_request where both forms are stated, or one name twice */
function statedCredentials(
  { from_env, credentials }: Pick<Entry<'providers'>, 'from_env' | 'credentials'>,
  n: number,
): readonly Credential[] {
  if (credentials === undefined) {
    return from_env === undefined ? [] : [{ name: DEFAULT_CREDENTIAL, weight: 1 }]
  }
  if (from_env !== undefined) {
    throw invalidInput(`providers.${n}`, 'has from_env or credentials, not both')
  }
  if (new Set(credentials.map(({ name }) => name)).size < credentials.length) {
    throw invalidInput(`providers.${n}.credentials`, 'two have the same name')
  }
  return credentials
    .map(({ name, weight }) => ({ name, weight }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Bounds that are the catalog's are so again where they are written out, as `export` does. */
async function desiredModels(
  models: readonly Entry<'models'>[],
  providers: readonly Entry<'providers'>[],
  current: readonly Entity[],
  at: Instant,
): Promise<readonly Entity[]> {
  const known = byRef(current)
  const vendors = new Map([
    ...current
      .filter(({ kind }) => kind === 'provider')
      .map(({ name, fields }) => [name, String(fields['type'])] as const),
    ...providers.map(({ name, type, base_url }) => [name, typeFor(name, type, base_url)] as const),
  ])
  const entities: Entity[] = []
  for (const [n, entry] of models.entries()) {
    const card = desiredCard(entry, n, at)
    const before = known.get(entityRef({ kind: 'model', name: card.id }))?.card
    const isCatalogued =
      (before?.isCatalogued === true && hasSameBounds(before, card)) ||
      (await isFromCatalog(vendors.get(card.provider) ?? '', card))
    entities.push(modelEntity({ ...card, isCatalogued }, at))
  }
  return entities
}

const hasSameBounds = (one: ModelCard, other: ModelCard): boolean =>
  one.upstreamName === other.upstreamName &&
  one.contextLength === other.contextLength &&
  one.maxCompletionTokens === other.maxCompletionTokens

function desiredCard(entry: Entry<'models'>, n: number, at: Instant): ModelCard {
  const slash = entry.id.indexOf('/')
  const own = entry.id.slice(slash + 1)
  const provider = entry.provider ?? entry.id.slice(0, slash)
  if (provider === DEMO) {
    throw invalidInput(`models.${n}`, 'the models of the demo provider are built in')
  }
  const upstreamName = entry.upstream ?? own
  const { kind, embedding_space: space = null, price } = entry
  requireEmbedding(kind, space, `models.${n}.embedding_space`)
  if (price !== undefined) requirePrices(kind, price, `models.${n}.price`)
  const prices = price === undefined ? null : toPrices(price)
  return {
    id: entry.id,
    kind,
    embeddingSpace: space,
    provider,
    upstreamName,
    ...(entry.route === undefined
      ? UNROUTED
      : {
          route: entry.route.map((hop) => toHop(hop, upstreamName)),
          routedBy: entry.id,
          routeOrder: entry.route_order,
        }),
    name: entry.name ?? own,
    description: entry.description,
    createdAt: at,
    contextLength: entry.context_length ?? null,
    maxCompletionTokens: entry.max_completion_tokens ?? null,
    isCatalogued: false,
    imagesPerAnswer: entry.images_per_answer,
    wires: entry.wires ?? null,
    inputModalities: entry.input_modalities,
    outputModalities: entry.output_modalities,
    supportedParameters: entry.supported_parameters,
    prices: prices ? [{ id: newPriceVersionId(at), effectiveFrom: at, prices }] : [],
  }
}

const toHop = (
  { provider, upstream, position, weight }: Entry<'routes'>['hops'][number],
  upstreamName: string,
): RouteHop => ({ provider, upstreamName: upstream ?? upstreamName, position, weight })

const desiredRoute = ({ pattern, order, hops }: Entry<'routes'>): Entity =>
  routeEntity({ pattern, order, hops: hops.map((hop) => toHop(hop, OWN)) })

/** A file has fields where a command has flags. */
const toFields = (problem: string): string =>
  problem.replaceAll(/--([a-z-]+)/g, (_, flag: string) => flag.replaceAll('-', '_'))

/** @throws invalid_request for prices that a model of this kind lacks, or cannot have */
function requirePrices(kind: ModelKind, price: PriceDocument, param: string): void {
  const problem = priceProblem(kind, {
    prompt: price.in_usd,
    completion: price.out_usd,
    searchUnit: price.per_search_unit_usd ?? FREE,
    // Text and images of one model may both be free here; each is stated.
    isPerImage: kind !== 'generate' && (price.per_image_usd ?? []).length > 0,
  })
  if (problem !== null) throw invalidInput(param, toFields(problem))
}

function desiredKey(entry: Entry<'keys'>, n: number, current: readonly Entity[]): Entity {
  const { account, name, kind, note, expires_at, disabled, id } = entry
  if (id !== undefined) requireKnownId(current, 'key', id, `keys.${n}.id`)
  const limits = { ...NO_LIMITS, ...statedLimits(entry) }
  return keyEntity(account, id ?? name, id ?? null, {
    name,
    kind,
    note: note ?? null,
    limits,
    expiresAt: expires_at ?? null,
    isDisabled: disabled,
  })
}

function desiredClient(
  deps: OperatorDeps,
  entry: Entry<'clients'>,
  n: number,
  current: readonly Entity[],
): Entity {
  const { name, id, redirect_uris, logout_uris, require_pkce, allowed } = entry
  if (id !== undefined) requireKnownId(current, 'client', id, `clients.${n}.id`)
  const shape = {
    redirectUris: redirect_uris,
    logoutUris: logout_uris,
    requiresPkce: require_pkce,
    isPublic: entry.public,
    isForDevices: entry.device,
  }
  requireSound(shape, `clients.${n}.`)
  const uri = entry.backchannel_logout_uri
  return clientEntity(id ?? name, id ?? null, {
    name,
    ...shape,
    backchannelLogoutUri: readLogoutUri(deps, uri, `clients.${n}.backchannel_logout_uri`),
    hasIdTokenClaims: entry.id_token_claims,
    access: allowed ?? 'everybody',
  })
}

/** Ids are assigned by the gateway, so that an id in the file must exist. */
function requireKnownId(current: readonly Entity[], kind: Kind, id: string, param: string): void {
  const known = current.some((entity) => entity.kind === kind && entity.id === id)
  if (!known)
    throw invalidInput(param, `there is no ${kind} ${id} here; leave the id out to make one`)
}

function refuseDuplicates(stated: readonly Entity[]): void {
  const seen = new Set<string>()
  for (const entity of stated) {
    const title = entityRef(entity)
    if (seen.has(title)) throw invalidInput(`${entity.kind}s`, `${title} is stated twice`)
    seen.add(title)
  }
}

/** The kind of a key cannot be changed, nor whether a client has a secret. */
function refuseKindChange(stated: readonly Entity[], current: readonly Entity[]): void {
  const known = byRef(current)
  for (const entity of stated) {
    const before = known.get(entityRef(entity))
    if (entity.kind === 'client' && before?.fields['public'] === !entity.fields['public']) {
      const words = `client ${entity.name} cannot change "public": register another application`
      throw invalidInput('clients', words)
    }
    if (entity.kind !== 'key') continue
    if (before && before.fields['kind'] !== entity.fields['kind']) {
      const { kind } = before.fields
      throw invalidInput(
        'keys',
        `key ${entity.name} is ${String(kind)} and cannot become another kind`,
      )
    }
  }
}

/** A new expiry must be in the future; an unchanged past one may stay in the file. */
function requireFutureExpiry(
  keys: readonly Entry<'keys'>[],
  stated: readonly Entity[],
  current: readonly Entity[],
  at: Instant,
): void {
  const known = byRef(current)
  const entities = stated.filter(({ kind }) => kind === 'key')
  for (const [n, { expires_at }] of keys.entries()) {
    const entity = entities[n]
    if (expires_at === undefined || expires_at > at || entity === undefined) continue
    const before = known.get(entityRef(entity))
    if (before?.fields['expires_at'] === entity.fields['expires_at']) continue
    throw invalidInput(
      `keys.${n}.expires_at`,
      'must be a time in the future; leave out a key that should have ended',
    )
  }
}

/** A key that has such a name, or such a note, keeps it. */
function refuseNewNames(stated: readonly Entity[], current: readonly Entity[]): void {
  const known = byRef(current)
  for (const [n, entity] of stated.filter(({ kind }) => kind === 'key').entries()) {
    const before = known.get(entityRef(entity))?.fields
    for (const field of ['name', 'note'] as const) {
      const text = String(entity.fields[field] ?? '')
      if (before?.[field] === text) continue
      const param = `keys.${n}.${field}`
      if (field === 'name') requireKeyName(text, param)
      if (holdsSecret(text)) throw invalidInput(param, HOLDS_KEY)
    }
  }
}

/** A name shared by several keys or clients needs an id. */
function refuseAmbiguousNames(stated: readonly Entity[], current: readonly Entity[]): void {
  for (const { kind, id, fields } of stated) {
    if ((kind !== 'key' && kind !== 'client') || id !== null) continue
    const same = current.filter(
      (known) =>
        known.kind === kind &&
        known.fields['name'] === fields['name'] &&
        known.fields['account'] === fields['account'],
    )
    if (same.length < 2) continue
    const ids = same.map((known) => known.id).join(', ')
    throw invalidInput(
      `${kind}s`,
      `several ${kind}s are called "${fields['name']}": state an id (${ids})`,
    )
  }
}

async function fromCatalog(
  providers: readonly Entry<'providers'>[],
  stated: readonly Entity[],
  current: readonly Entity[],
  at: Instant,
): Promise<readonly Entity[]> {
  const [named, known] = [byRef(stated), byRef(current)]
  const found: Entity[] = []
  for (const { name, type, base_url, catalog } of providers) {
    if (!catalog) continue
    const vendor = typeFor(name, type, base_url)
    for (const entry of await catalogOf(vendor)) {
      const entity = modelEntity(toCard(entry, { name }, at), at)
      const title = entityRef(entity)
      if (!named.has(title)) found.push(known.get(title) ?? entity)
    }
  }
  return found
}
