/** What must hold of every run, whatever has failed in it: safety while it goes on, and that everything ends once nothing fails any more. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Admissions, Claim } from '#domain/admission.ts'
import { type Day, type Instant, MINUTE_MS, systemClock } from '#domain/clock.ts'
import type { AccountId, EpochId, GenerationId, KeyId } from '#domain/id.ts'
import type { Limits } from '#domain/limits.ts'
import { addUsd, NO_MONEY, negateUsd, type UsdNanos } from '#domain/money.ts'
import type { Store } from '#domain/store.ts'
import type { Clients, Told } from './clients.ts'
import type { Furniture } from './furnish.ts'
import type { Life, World } from './world.ts'

/** One charge of the ledger. */
export interface Charged {
  readonly generationId: GenerationId
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly day: Day
  readonly amount: UsdNanos
}

/** The books as they are at the end. */
export interface Books {
  readonly charges: readonly Charged[]
  /** The log's line of a request, as far as anybody asks. */
  readonly lines: ReadonlyMap<string, Pick<ActivityEntry, 'cost'>>
  readonly balances: ReadonlyMap<AccountId, UsdNanos>
  /** What does not add up. */
  readonly findings: readonly string[]
  readonly openHolds: number
  /** Of all keys. */
  readonly inProgress: number
  readonly reserved: UsdNanos
}

/** Sees each admission as it is granted, and its end as it is asked for. */
export class Watch {
  readonly faults: string[] = []
  private readonly world: World
  private readonly limits: ReadonlyMap<KeyId, Limits>
  private readonly running = new Map<GenerationId, Claim>()
  /** Those whose end the store has not acknowledged yet. */
  private readonly unsettled = new Set<GenerationId>()
  private admitted: Admitted[] = []

  constructor(world: World, { keys }: Furniture) {
    this.world = world
    this.limits = new Map(keys.map(({ id, limits }) => [id, limits]))
  }

  /** `lifeOf`: the process that has this epoch. */
  over(admissions: Admissions, lifeOf: (epoch: EpochId) => Life): Admissions {
    return {
      ...admissions,
      admit: async (claim) => {
        const verdict = await admissions.admit(claim)
        if (typeof verdict === 'object' && verdict.admitted) {
          this.begin(claim, lifeOf(claim.owner.epoch))
        }
        return verdict
      },
      settle: async (id, settlement) => {
        this.running.delete(id)
        const isSettled = await admissions.settle(id, settlement)
        this.unsettled.delete(id)
        return isSettled
      },
      expire: (epochs, at) => {
        this.end((epoch) => epochs.includes(epoch))
        return admissions.expire(epochs, at)
      },
    }
  }

  private begin(claim: Claim, life: Life): void {
    const { keyId, generationId, at } = claim
    if (life.isDead) return
    this.running.set(generationId, claim)
    this.unsettled.add(generationId)
    life.endings.push(() => this.running.delete(generationId))
    this.admitted.push({ keyId, generationId, at, grantedMs: this.world.nowMs })
    const limit = this.limits.get(keyId)?.concurrency ?? null
    const now = [...this.running.values()].filter((one) => one.keyId === keyId).length
    if (limit !== null && now > limit) {
      this.faults.push(`key ${keyId} runs ${now} at once, of ${limit}`)
    }
  }

  /** What these have in progress is void. */
  end(isOver: (epoch: EpochId) => boolean): void {
    for (const [id, { owner }] of this.running) if (isOver(owner.epoch)) this.running.delete(id)
  }

  /** The store was killed: with a hold so young that it had no row its slot is lost (docs/decisions.md). */
  lose(youngMs: number): void {
    this.admitted = this.admitted.filter(
      ({ generationId, grantedMs }) =>
        !this.unsettled.has(generationId) || grantedMs < this.world.nowMs - youngMs,
    )
    this.end(() => true)
  }

  /** More within a minute than a limit allows, by the instants of claims. */
  windows(): readonly string[] {
    return [...Map.groupBy(this.admitted, ({ keyId }) => keyId)].flatMap(([id, ofKey]) => {
      const limit = this.limits.get(id)?.rpm ?? null
      if (limit === null) return []
      const instants = ofKey.map(({ at }) => at).sort((a, b) => a - b)
      const found = instants.find((at, nth) => (instants[nth + limit] ?? Infinity) - at < MINUTE_MS)
      return found === undefined
        ? []
        : [`key ${id} took more than ${limit} in the minute from ${found}`]
    })
  }
}

interface Admitted {
  readonly keyId: KeyId
  readonly generationId: GenerationId
  readonly at: Instant
  readonly grantedMs: number
}

/** Broken promises. */
export const judge = (
  furniture: Furniture,
  { told, faults, waiting }: Clients,
  books: Books,
  mayRepeat: ReadonlySet<string>,
): readonly string[] => [
  ...faults,
  ...books.findings,
  ...[...waiting].map(({ nth }) => `request ${nth} never ended`),
  ...judgeCharges(told, books),
  ...judgeNames(told, mayRepeat),
  ...judgeMoney(furniture, books),
  ...judgeRest(books),
]

/** One charge a generation, of all that was answered, and the line of each says the same. */
function judgeCharges(told: readonly Told[], { charges, lines }: Books): readonly string[] {
  const broken: string[] = []
  const known = new Map<string, Charged>()
  for (const charge of charges) {
    const { generationId: id, amount } = charge
    if (known.has(id)) broken.push(`${id} is charged twice`)
    known.set(id, charge)
    const line = lines.get(id)
    if (line?.cost !== amount) broken.push(`${id} is charged ${amount}, its line has ${line?.cost}`)
  }
  for (const { generationId, cost, nth, isBroken } of told) {
    // What ended by an error may cost nothing.
    const amount = known.get(generationId)?.amount ?? (isBroken ? 0n : undefined)
    if (amount !== cost) broken.push(`request ${nth} was told ${cost}, and is charged ${amount}`)
  }
  return broken
}

/** One answer a name. `mayRepeat`: those whose request was ended while it still ran, which is charged beside the one that followed. */
function judgeNames(told: readonly Told[], mayRepeat: ReadonlySet<string>): readonly string[] {
  const named = Map.groupBy(
    told.filter(({ repeat, isBroken }) => repeat !== null && !isBroken),
    ({ repeat }) => repeat as string,
  )
  return [...named].flatMap(([name, answers]) => {
    const ids = new Set(answers.map(({ generationId }) => generationId))
    return ids.size < 2 || mayRepeat.has(name)
      ? []
      : [`${name} was answered by ${[...ids].join(' and ')}`]
  })
}

/** Ceilings and balances are exceeded by one request at most. */
function judgeMoney({ keys }: Furniture, { charges, balances }: Books): readonly string[] {
  const broken: string[] = []
  for (const { id, limits } of keys) {
    const own = charges.filter(({ keyId }) => keyId === id)
    for (const [day, ofDay] of Map.groupBy(own, (charge) => charge.day)) {
      const spent = sum(ofDay)
      if (limits.dailySpend !== null && spent - most(ofDay) >= limits.dailySpend) {
        broken.push(`key ${id} spent ${spent} on day ${day}, of ${limits.dailySpend}`)
      }
    }
  }
  for (const [id, balance] of balances) {
    const own = charges.filter(({ accountId }) => accountId === id)
    if (balance + most(own) < 0n) broken.push(`the balance of ${id} is ${balance}`)
  }
  return broken
}

const sum = (charges: readonly Charged[]): bigint =>
  charges.reduce((all, { amount }) => all + amount, 0n)
const most = (charges: readonly Charged[]): bigint =>
  charges.reduce((all, { amount }) => (amount > all ? amount : all), 0n)

/** What is left once all has ended. */
const judgeRest = ({ openHolds, inProgress, reserved }: Books): readonly string[] => [
  ...(openHolds === 0 ? [] : [`${openHolds} holds are open`]),
  ...(inProgress === 0 ? [] : [`${inProgress} requests are in progress`]),
  ...(reserved === 0n ? [] : [`${reserved} stays reserved`]),
]

const ALL = 100_000

/** From a store that serves. */
export async function readBooks(store: Store, { keys }: Furniture): Promise<Books> {
  const at = systemClock.now()
  const charges = await store.ledger.list({ kind: 'charge', limit: ALL })
  const lines = await store.activity.list({ limit: ALL })
  const spending = await store.admissions.spending(
    keys.map(({ id }) => id),
    at,
  )
  const { findings } = await store.audit()
  const accounts = await store.accounts.list()
  const { openHolds } = await store.health({ checkIntegrity: false })
  return {
    charges: charges.map(
      (entry) => ({ ...entry, amount: negateUsd(entry.amount) }) as unknown as Charged,
    ),
    lines: new Map(lines.map((line) => [line.generationId, line])),
    balances: new Map(accounts.map(({ id, balance }) => [id, balance])),
    findings: findings.map((finding) => `the audit finds ${JSON.stringify(finding, show)}`),
    openHolds,
    inProgress: spending.reduce((all, { requestsInProgress }) => all + requestsInProgress, 0),
    reserved: spending.reduce((all, { reserved }) => addUsd(all, reserved), NO_MONEY),
  }
}

const show = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' ? Number(value) : value
