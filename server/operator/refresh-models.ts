/** Prices from a file, or from the shipped catalog: what would change, and the change of all of it in one act. */
import { createHash } from 'node:crypto'
import * as z from 'zod/mini'
import { type ActChanges, changesBetween } from '#domain/act.ts'
import { untilCurrent } from '#domain/catalogue.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { findInexact } from '#domain/extras.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { allows } from '#domain/key.ts'
import { isModelId, type ModelCard, type Prices, priceAt } from '#domain/model-card.ts'
import { FREE } from '#domain/money.ts'
import type { Provider } from '#domain/provider.ts'
import { orNull } from '#forms/fields.ts'
import { type PricedEntry, pricedEntry } from './catalog/read-catalog.ts'
import { isSupported, shippedCatalog, toCard, toPrices, whyUnpriced } from './catalog.ts'
import type { OperatorDeps } from './deps.ts'
import { type PriceRecord, renderVersion } from './model-record.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface PriceChangeRecord {
  readonly model: string
  /** Since when the price in force is; null: it has none. */
  readonly since: string | null
  /** A price that was set ahead takes over then, whatever is set now; null: there is none. */
  readonly until: string | null
  /** From what to what, by the fields of a price. */
  readonly changes: ActChanges
  /** Whether text would cost nothing from then on. */
  readonly free: boolean
}

export interface NewModelRecord {
  readonly model: string
  readonly name: string
  readonly in_usd: string
  readonly out_usd: string
  /** What long prompts cost. */
  readonly tiers: PriceRecord['tiers']
}

export interface RefreshRecord {
  readonly source: 'file' | 'shipped'
  readonly changes: readonly PriceChangeRecord[]
  /** What the source has, and the gateway does not: offered, or added where that was asked. */
  readonly new_models: readonly NewModelRecord[]
  readonly adds_new: boolean
  /** Models whose price is the source's already. */
  readonly confirmed: readonly string[]
  /** Models that the source does not have, of vendors that it has. */
  readonly missing: readonly string[]
  /** Models whose price in the source cannot be used. */
  readonly skipped: readonly { readonly model: string; readonly why: string }[]
  /** Providers of whose vendor the source has nothing. */
  readonly uncovered: readonly string[]
  /** Vendors of the source that have no provider here. */
  readonly other_vendors: readonly { readonly vendor: string; readonly models: number }[]
  /** Confirms exactly this. */
  readonly plan: string
}

const MAX_ENTRIES = 50_000

const refreshFields = {
  /** Null: the shipped catalog. */
  entries: orNull(z.array(pricedEntry).check(z.maxLength(MAX_ENTRIES))),
  /** Only these models: ids, `<provider>/*`; none: all. */
  masks: z._default(z.array(z.string()), []),
  /** Whether models that the gateway does not have are added. */
  add_new: z._default(z.boolean(), false),
}

/** What it would change; changes nothing. @throws invalid_request */
export const planRefresh = verb(
  z.strictObject(refreshFields),
  async (deps, input): Promise<RefreshRecord> => (await plan(deps, input)).record,
)

/** Changes it, if it is still what was confirmed. @throws invalid_request */
export const refreshModels = mutation(
  'models.refresh',
  z.strictObject({ ...refreshFields, plan: z.string() }),
  (deps, { plan: confirmed, ...input }, act): Promise<RefreshRecord> =>
    untilCurrent(async () => {
      const { version } = deps.store.catalogue.current()
      const { record, priced, added } = await plan(deps, input)
      if (record.plan !== confirmed) {
        throw new GatewayError('invalid_request', 'something was changed since this was planned', {
          hint: 'gatewayctl models refresh, and look at the new plan',
        })
      }
      const noted = act(null, actOf(record))
      if (priced.length + added.length === 0) {
        await deps.store.acts.note(noted)
        return record
      }
      return (await deps.store.models.refresh({ priced, added }, noted, version)) ?? record
    }),
)

const actOf = ({
  source,
  changes,
  new_models,
  adds_new,
  confirmed,
}: RefreshRecord): ActChanges => ({
  source,
  ...(changes.length > 0 && {
    priced: Object.fromEntries(changes.map((change) => [change.model, change.changes])),
  }),
  ...(adds_new && new_models.length > 0 && { added: new_models.map(({ model }) => model) }),
  ...(confirmed.length > 0 && { confirmed }),
})

interface Planned {
  readonly record: RefreshRecord
  readonly priced: { readonly id: string; readonly version: ModelCard['prices'][number] }[]
  readonly added: readonly ModelCard[]
}

interface Input {
  readonly entries: readonly PricedEntry[] | null
  readonly masks: readonly string[]
  readonly add_new: boolean
}

async function plan(deps: OperatorDeps, input: Input): Promise<Planned> {
  const at = deps.clock.now()
  const isShipped = input.entries === null
  const all: readonly PricedEntry[] = input.entries ?? (await shippedCatalog())
  const byVendor = Map.groupBy(all.filter(isSupported), ({ served_by }) => served_by)
  const { providers, models, aliases } = deps.store.catalogue.current()
  const masks = input.masks.length === 0 ? null : input.masks
  const found = newFindings()
  const known: string[] = []
  for (const provider of providers.values()) {
    if (provider.type === 'demo') continue
    const entries = byVendor.get(vendorOf(provider))
    const own = [...models.values()].filter((card) => card.provider === provider.name)
    const cards = own.filter(({ id }) => allows(masks, id))
    known.push(...own.map(({ id }) => id))
    if (entries === undefined) {
      if (masks === null || cards.length > 0) found.uncovered.push(provider.name)
      continue
    }
    const byName = new Map(entries.map((entry) => [entry.model, entry]))
    for (const card of cards) judge(card, byName.get(card.upstreamName), at, found)
    for (const { upstreamName } of own) byName.delete(upstreamName)
    const isFree = ({ id }: ModelCard): boolean => !models.has(id) && !aliases.has(id)
    const offered = [...byName.values()].flatMap((entry) => newCard(entry, provider, at) ?? [])
    found.added.push(...offered.filter((card) => isFree(card) && allows(masks, card.id)))
    known.push(...offered.map(({ id }) => id))
  }
  const vendors = new Set([...providers.values()].map(vendorOf))
  const others = [...byVendor].filter(([vendor]) => !vendors.has(vendor))
  for (const [vendor, some] of others) known.push(...some.map(({ model }) => `${vendor}/${model}`))
  requireMatches(input.masks, known)
  const { priced, added, ...findings } = found
  const record = {
    source: isShipped ? ('shipped' as const) : ('file' as const),
    ...findings,
    new_models: added.map((card) => toNewModel(card, at)),
    adds_new: input.add_new,
    other_vendors: others.map(([vendor, some]) => ({ vendor, models: some.length })),
  }
  const digest = createHash('sha256').update(JSON.stringify(record)).digest('hex').slice(0, 16)
  // Only of the shipped catalog it is known that nobody typed what it states of a context.
  const cards = added.map((card) => ({ ...card, isCatalogued: isShipped }))
  return { record: { ...record, plan: digest }, priced, added: input.add_new ? cards : [] }
}

/** @throws invalid_request for a mask that matches no model, be it one that could be added or is of a vendor without a provider here */
function requireMatches(masks: readonly string[], known: readonly string[]): void {
  const idle = masks.find((mask) => !known.some((id) => allows([mask], id)))
  if (idle !== undefined) throw invalidInput('masks', `nothing to price is called ${idle}`)
}

const newFindings = () => ({
  changes: [] as PriceChangeRecord[],
  confirmed: [] as string[],
  missing: [] as string[],
  skipped: [] as { readonly model: string; readonly why: string }[],
  uncovered: [] as string[],
  priced: [] as Planned['priced'],
  added: [] as ModelCard[],
})

/** A vendor without a type of its own is known by the name of its provider. */
const vendorOf = ({ name, type }: Provider): string => (type === 'openai-compatible' ? name : type)

function judge(
  card: ModelCard,
  entry: PricedEntry | undefined,
  at: Instant,
  found: ReturnType<typeof newFindings>,
): void {
  const { id: model } = card
  if (entry === undefined) return void found.missing.push(model)
  const before = priceAt(card, at)
  const prices = pricesFrom({ ...entry, kind: card.kind }, before?.prices ?? null)
  if (typeof prices === 'string') return void found.skipped.push({ model, why: prices })
  const version = { id: newPriceVersionId(at), effectiveFrom: at, prices }
  const changes = changesBetween(
    before === null ? {} : factsOf(renderVersion(before)),
    factsOf(renderVersion(version)),
  )
  if (before !== null && Object.keys(changes).length === 0) return void found.confirmed.push(model)
  const ahead = card.prices.map(({ effectiveFrom }) => effectiveFrom).filter((from) => from > at)
  found.priced.push({ id: model, version })
  found.changes.push({
    model,
    since: before && renderInstant(before.effectiveFrom),
    until: ahead.length === 0 ? null : renderInstant(Math.min(...ahead) as Instant),
    changes,
    free: card.kind === 'generate' && prices.prompt === FREE && prices.completion === FREE,
  })
}

const factsOf = ({ version: _, effective_from: _from, ...facts }: PriceRecord): ActChanges => ({
  ...facts,
})

/**
 * What the entry states replaces what is known, the tiers with the price that they are of. What it has no word for stays: a price
 * of an hour in the cache, of images, of tools, of factors. A text: why it cannot be used.
 */
function pricesFrom(entry: PricedEntry, known: Prices | null): Prices | string {
  if (entry.refused !== undefined) return entry.refused
  const drawsAtKnownPrice =
    known !== null && (known.imageOutputToken !== null || known.imagePrices.length > 0)
  const stated: PricedEntry = drawsAtKnownPrice ? { ...entry, output: ['text'] } : entry
  const fresh = toPrices(stated)
  if (fresh === null) return whyUnpriced(stated) ?? 'it states no price'
  const prices = known === null ? fresh : withKnown(fresh, known, entry)
  const inexact = findInexact(prices)
  return inexact === undefined
    ? prices
    : `its price by ${inexact.factors} has more than 18 decimal places`
}

const withKnown = (fresh: Prices, known: Prices, entry: PricedEntry): Prices => ({
  ...fresh,
  cacheRead: fresh.cacheRead ?? known.cacheRead,
  cacheWrite: fresh.cacheWrite ?? known.cacheWrite,
  cacheWrite1h: fresh.cacheWrite1h ?? known.cacheWrite1h,
  request: known.request,
  inputImage: known.inputImage,
  imageInputToken: fresh.imageInputToken ?? known.imageInputToken,
  imageOutputToken: fresh.imageOutputToken ?? known.imageOutputToken,
  imagePrices: fresh.imagePrices.length > 0 ? fresh.imagePrices : known.imagePrices,
  tiers: fresh.tiers.map((tier) => ({
    ...tier,
    cacheWrite1h: tier.cacheWrite1h ?? sameTier(known, tier.aboveTokens)?.cacheWrite1h ?? null,
  })),
  serverTools: entry.usd_per_thousand_calls === undefined ? known.serverTools : fresh.serverTools,
  modifiers: entry.modifiers === undefined ? known.modifiers : fresh.modifiers,
})

const sameTier = ({ tiers }: Prices, above: number) =>
  tiers.find(({ aboveTokens }) => aboveTokens === above)

/** Undefined for a model that could not be asked for, or would be refused. */
function newCard(entry: PricedEntry, provider: Provider, at: Instant): ModelCard | undefined {
  if (entry.refused !== undefined) return undefined
  const card = toCard(entry, provider, at)
  return card.prices.length > 0 && isModelId(card.id) ? card : undefined
}

function toNewModel(card: ModelCard, at: Instant): NewModelRecord {
  const price = priceAt(card, at)
  const { in_usd = '0', out_usd = '0', tiers = [] } = price === null ? {} : renderVersion(price)
  return { model: card.id, name: card.name, in_usd, out_usd, tiers }
}
