/** Holds the model of PostgreSQL to the other engine: both are asked the same, and have to answer alike. */
import { openPostgres } from '#db/postgres/store.ts'
import type { ActivityEntry } from '#domain/activity.ts'
import type { Claim, Repeated, Settlement, Verdict } from '#domain/admission.ts'
import type { Stale } from '#domain/catalogue.ts'
import { type Instant, settable, systemClock } from '#domain/clock.ts'
import { newEpochId, newGenerationId, newRequestId } from '#domain/id.ts'
import type { StagedAnswer } from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Charge } from '#domain/ledger.ts'
import { NO_MONEY, type RubMicros, type UsdAttos, type UsdNanos } from '#domain/money.ts'
import { type OfferCost, outputCost } from '#domain/offer-cost.ts'
import type { Owner } from '#domain/owner.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { GatewayStore } from '#signin/store.ts'
import { ADDRESS, furnished } from './nodes.ts'
import { clientsOf } from './postgres/client.ts'
import { Server } from './postgres/server.ts'
import { Tables } from './postgres/tables.ts'
import type { World } from './world.ts'

const STEPS = 150
const NAMES = 6

export interface Compared {
  /** What differs. */
  readonly broken: readonly string[]
  /** Verdicts by what they say. */
  readonly counts: Readonly<Record<string, number>>
}

export function compare(world: World): Compared {
  const { furniture, fixed, version, store: plain } = furnished(world)
  const startsAt = world.today - Math.floor(world.nowMs)
  const server = new Server(world, startsAt, () => new Tables(furniture, version), fixed)
  const way = { thereUntilMs: 0, backUntilMs: 0, cuts: 0, isCalm: true }
  Bun.SQL = clientsOf(world, server, () => way) as never
  const modelled = world.wait('open', () =>
    openPostgres({ address: ADDRESS, clock: settable(systemClock), node: 'a' }),
  )
  const comparison = new Comparison(world, plain, modelled, furniture.keys, version)
  for (let step = 0; step < STEPS; step++) comparison.step()
  const balances = world.wait('balances', () => plain.accounts.list())
  for (const { id, balance } of balances) {
    comparison.hold(`the balance of ${id}`, Number(balance), server.tables.balances.get(id))
  }
  return comparison
}

class Comparison implements Compared {
  readonly broken: string[] = []
  readonly counts: Record<string, number> = {}
  private readonly world: World
  /** The engine that is held against, and the one over the model. */
  private readonly stores: readonly [GatewayStore, GatewayStore]
  private readonly keys: readonly ApiKey[]
  private readonly catalogue: number
  private owners: Owner[]
  private readonly running: Claim[] = []
  private readonly over: Claim[] = []

  constructor(
    world: World,
    plain: GatewayStore,
    modelled: GatewayStore,
    keys: readonly ApiKey[],
    catalogue: number,
  ) {
    this.world = world
    this.stores = [plain, modelled]
    this.keys = keys
    this.catalogue = catalogue
    this.owners = [this.newOwner(), this.newOwner()]
  }

  step(): void {
    const { world } = this
    const ms = world.odds(10) ? world.chance.between(20_000, 90_000) : world.chance.exponential(900)
    world.run(() => false, ms)
    const isMore = this.running.length < 6
    if (world.odds(isMore ? 60 : 30)) this.admit(world.odds(15))
    else if (world.odds(6)) this.expire()
    else this.settle()
  }

  hold(what: string, expected: unknown, found: unknown): void {
    if (Bun.deepEquals(expected, found)) return
    this.broken.push(`${what}: ${show(expected)}, and the model has ${show(found)}`)
  }

  /** By both. */
  private ask<T>(
    what: string,
    act: (store: GatewayStore, nth: 0 | 1) => Promise<T>,
  ): readonly [T, T] {
    const { world, stores } = this
    const [plain, modelled] = stores
    return world.wait(what, () => Promise.all([act(plain, 0), act(modelled, 1)]))
  }

  private newOwner(): Owner {
    return { node: 'elsewhere', epoch: newEpochId(systemClock.now()) }
  }

  private admit(onlyJudged: boolean): void {
    const { world, keys, owners, catalogue } = this
    const { chance } = world
    const key = keys[chance.pick(keys.length)] as ApiKey
    const at = systemClock.now()
    const name = `name-${chance.pick(NAMES)}`
    const claim: Claim = {
      generationId: newGenerationId(at),
      requestId: newRequestId(at),
      owner: owners[chance.pick(owners.length)] as Owner,
      keyId: key.id,
      accountId: key.accountId,
      at,
      model: 'demo/lorem',
      ...{ endUser: null, surface: 'chat', session: null },
      repeat: world.odds(30) ? { key: name, digest: world.odds(80) ? 'one' : 'other' } : null,
      offers: Array.from({ length: 1 + chance.pick(2) }, () => this.drawOffer()),
      catalogue: world.odds(3) ? catalogue - 1 : catalogue,
    }
    const [plain, modelled] = this.ask('a claim', ({ admissions }) =>
      onlyJudged ? admissions.judge({ ...claim, repeat: null }) : admissions.admit(claim),
    )
    this.hold(`the verdict on ${claim.generationId}`, told(plain), told(modelled))
    const said = nameOf(plain)
    this.counts[said] = (this.counts[said] ?? 0) + 1
    if (!onlyJudged && plain !== 'stale' && plain.admitted) this.running.push(claim)
  }

  private drawOffer(): OfferCost {
    const { chance } = this.world
    const full = chance.pick(2_000)
    const perMillion = BigInt(chance.pick(900_000_000)) as UsdNanos
    return {
      promptTokens: chance.pick(600),
      base: BigInt(chance.pick(400_000)) as UsdNanos,
      perMillion,
      choices: 1 + chance.pick(2),
      full,
      floor: chance.pick(full + 1),
      fullOutput: outputCost(perMillion, 2, full),
    }
  }

  private settle(): void {
    const { world, running, over } = this
    const { chance } = world
    // One that is over, at times: nothing changes.
    const isAgain = over.length > 0 && world.odds(15)
    const from = isAgain ? over : running
    const at = chance.pick(from.length)
    const claim = from[at]
    if (claim === undefined) return
    if (!isAgain) {
      running.splice(at, 1)
      over.push(claim)
    }
    const amount = BigInt(chance.pick(300_000)) as UsdNanos
    const charge = world.odds(20) ? null : chargeOf(amount, chance.pick(900))
    const keeps = claim.repeat !== null && charge !== null && !isAgain && world.odds(80)
    const staged = this.ask('an answer', ({ answers }) =>
      keeps ? answers.stage(answerOf(claim)) : Promise.resolve(null),
    )
    const settled = this.ask('a settlement', ({ admissions }, nth) =>
      admissions.settle(claim.generationId, settlementOf(claim, charge, staged[nth])),
    )
    this.hold(`the settlement of ${claim.generationId}`, settled[0], settled[1])
    this.spending(claim)
  }

  /** An epoch has ended. */
  private expire(): void {
    const [ended, ...others] = this.owners
    if (ended === undefined) return
    this.owners = [...others, this.newOwner()]
    this.ask('an end', ({ admissions }) => admissions.expire([ended.epoch], systemClock.now()))
    for (const claim of this.running.splice(0)) {
      const list = claim.owner === ended ? this.over : this.running
      list.push(claim)
      if (claim.owner === ended) this.spending(claim)
    }
  }

  private spending({ keyId }: Claim): void {
    const [plain, modelled] = this.ask('spending', async ({ admissions }) => {
      const [one] = await admissions.spending([keyId], systemClock.now())
      return { reserved: one?.reserved, requestsInProgress: one?.requestsInProgress }
    })
    this.hold(`what ${keyId} has in progress`, plain, modelled)
  }
}

function nameOf(verdict: Verdict | Repeated | Stale): string {
  if (verdict === 'stale' || verdict.admitted) return verdict === 'stale' ? verdict : 'admitted'
  if ('repetition' in verdict) return verdict.repetition.is
  return `${verdict.refusal.of ?? 'key'} ${verdict.refusal.code} ${verdict.refusal.limit}`
}

function told(verdict: Verdict | Repeated | Stale): unknown {
  if (verdict === 'stale') return verdict
  if ('repetition' in verdict) return { repetition: verdict.repetition.is }
  const { minute, day } = verdict.quota
  return { ...verdict, quota: { minute, day } }
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? Number(inner) : inner))

const NO_PART = 0n as UsdAttos

const chargeOf = (amount: UsdNanos, outputTokens: number): Charge => ({
  amount,
  rubPerUsd: DEFAULT_RUB_PER_USD,
  costRub: 0n as RubMicros,
  priceVersion: 'price_1',
  usage: { ...NO_USAGE, outputTokens },
  modifiers: [],
  source: 'provider',
  parts: { prompt: NO_PART, completion: NO_PART, images: NO_PART, tools: NO_PART },
})

const answerOf = ({ keyId, repeat, generationId }: Claim) => ({
  keyId,
  repeat: repeat ?? { key: '', digest: '' },
  generationId,
  contentType: 'application/json',
  body: new TextEncoder().encode('{}'),
  keptAt: systemClock.now(),
})

const settlementOf = (
  claim: Claim,
  charge: Charge | null,
  answer: StagedAnswer | null,
): Settlement => {
  const at: Instant = systemClock.now()
  const { generationId, requestId, accountId, keyId, model, surface } = claim
  const activity: ActivityEntry = {
    ...{ generationId, requestId, accountId, keyId, model, surface },
    ...{ provider: 'demo', credential: null, endUser: null, session: null, node: null },
    ...{ stream: false, status: 200, code: null, endedBy: 'completed', finishReason: 'stop' },
    ...{ startedAt: claim.at, queuedMs: 0, firstEventMs: null, totalMs: at - claim.at },
    usage: charge?.usage ?? NO_USAGE,
    usageSource: charge === null ? null : 'provider',
    ...{ modifiers: [], cutTools: [], failedAttempts: [], refusal: null },
    cost: charge?.amount ?? NO_MONEY,
    ...{ costRub: 0n as RubMicros, image: null, statedCost: null, unchargedCost: NO_MONEY },
    ...{ hold: null, loweredBound: null },
  }
  return { at, charge, activity, answer }
}
