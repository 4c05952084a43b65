/** The books of a gateway as plain lists, kept beside a store to be compared with it: slow, obvious, independent of it. */
import type { Claim } from '#domain/admission.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

interface Request {
  readonly keyId: KeyId
  /** That of its key when it was admitted, which pays. */
  readonly accountId: AccountId
  readonly endUser: string | null
  readonly at: number
  readonly hold: bigint
  /** What it holds of the minute's tokens. */
  readonly tokensHeld: number
  /** What it used of them; null while it is in progress. */
  tokens: number | null
  /** What was in force when it was admitted. */
  readonly limits: Limits
  readonly accountLimits: Limits
  /** Null while it is in progress. */
  cost: bigint | null
}

/** Whose limit it is: null is the key's, or its end user's. */
type Whose = 'account' | null
type Rule = readonly [
  refuses: boolean,
  code: string,
  limit: string,
  resetsAt: number | null,
  whose: Whose,
]
type Ceiling = readonly [
  ceiling: bigint | null,
  some: readonly Request[],
  period: 'daily_spend_limit' | 'monthly_spend_limit',
  name: string,
  whose: Whose,
]

interface Granted {
  readonly hold: bigint
  readonly tokens: number
}

interface PlainKey {
  limits: Limits
  revoked: boolean
  accountId: AccountId
}

interface PlainAccount {
  /** What all its keys together may do. */
  limits: Limits
  balance: bigint
  /** The low-balance threshold, the instant of its mark, and how often the owner was told. */
  threshold: bigint | null
  mark: number | null
  told: number
}

export interface Expected {
  readonly code: string | null
  readonly limit: string | null
  readonly of: Whose
  readonly resetsAt: number | null
}

/** The limits that two may want the last of. */
export const RACED = ['rpm', 'rpd', 'tpm', 'concurrency', 'dailySpend', 'monthlySpend'] as const
export type RacedLimit = (typeof RACED)[number]

export interface PlainBooks {
  readonly keys: Map<KeyId, PlainKey>
  readonly accounts: Map<AccountId, PlainAccount>
  readonly requests: Map<string, Request>
  /** What the next claim of a key would be told; takes it when it is admitted. */
  admit(claim: Claim): Expected
  /** Whether it was still open. */
  resolve(id: string, cost: bigint, tokens: number, at: number): boolean
  topUp(accountId: AccountId, amount: bigint, at: number): void
  setThreshold(accountId: AccountId, below: bigint | null, at: number): void
  move(keyId: KeyId, accountId: AccountId): void
  /** Every request in progress is voided. */
  crash(): void
  usage(keyId: KeyId, now: number): Readonly<Record<string, bigint | number>>
  /** What each account was charged for its requests of each date, but for those of nothing. */
  daysOf(id: AccountId): ReadonlyMap<string, bigint>
  /** What the requests that a limit counts take of it, with what those in progress hold. */
  taken(limit: RacedLimit, owner: KeyId | AccountId, now: number): number
  /** Ceilings that were crossed by more than one request; there must be none. */
  overshoots(): readonly string[]
}

/** Who names no end user is capped as none. */
const capOf = (limits: Limits, endUser: string | null): bigint | null =>
  endUser === null ? null : limits.endUserDailySpend

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n)
const largest = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((most, one) => (one > most ? one : most), 0n)

export function plainBooks(): PlainBooks {
  const accounts = new Map<AccountId, PlainAccount>()
  const keys = new Map<KeyId, PlainKey>()
  const requests = new Map<string, Request>()
  const all = () => [...requests.values()]
  const of = (keyId: KeyId) => all().filter((one) => one.keyId === keyId)
  const admittedBy = (id: AccountId) => all().filter(({ accountId }) => accountId === id)
  const accountOf = (id: AccountId): PlainAccount => {
    const account = accounts.get(id)
    if (account === undefined) throw new Error(`there is no account ${id}`)
    return account
  }
  const homeOf = (keyId: KeyId): AccountId => keys.get(keyId)?.accountId ?? 'acct_none'

  const spent = (some: readonly Request[]) => sum(some.map(({ cost }) => cost ?? 0n))
  const held = (some: readonly Request[]) =>
    sum(some.map(({ cost, hold }) => (cost === null ? hold : 0n)))

  const promised = (some: readonly Request[]) => Number(spent(some) + held(some))

  /** Ceilings in the order in which they refuse: the key's, its end user's, the account's. */
  function ceilingsOf({ keyId, endUser, at }: Claim): readonly Ceiling[] {
    const limits = keys.get(keyId)?.limits ?? NO_LIMITS
    const { limits: shared } = accountOf(homeOf(keyId))
    const ours = admittedBy(homeOf(keyId))
    const mine = of(keyId)
    const theirs = mine.filter((one) => endUser !== null && one.endUser === endUser)
    const onDay = (some: readonly Request[]) => some.filter((one) => dateOf(one.at) === dateOf(at))
    const inMonth = (some: readonly Request[]) =>
      some.filter((one) => monthOf(one.at) === monthOf(at))
    const [day, month] = ['daily_spend_limit', 'monthly_spend_limit'] as const
    return [
      [limits.dailySpend, onDay(mine), day, 'daily_spend_limit_usd', null],
      [limits.monthlySpend, inMonth(mine), month, 'monthly_spend_limit_usd', null],
      [capOf(limits, endUser), onDay(theirs), day, 'end_user_daily_usd', null],
      [shared.dailySpend, onDay(ours), day, 'daily_spend_limit_usd', 'account'],
      [shared.monthlySpend, inMonth(ours), month, 'monthly_spend_limit_usd', 'account'],
    ]
  }

  /** Tokens of a minute, by admission: one that is alone may cross, others have to fit; it frees as others end, or leave. */
  function tokenRule({ keyId, at }: Claim, wanted: number, whose: Whose): Rule {
    const home = homeOf(keyId)
    const limit = (whose === 'account' ? accounts.get(home) : keys.get(keyId))?.limits.tpm ?? null
    const some = (whose === 'account' ? admittedBy(home) : of(keyId))
      .filter((one) => one.at + MINUTE > at)
      .sort((a, b) => a.at - b.at)
    const most = limit ?? Number.POSITIVE_INFINITY
    const usedFrom = (place: number) =>
      some.slice(place).reduce((total, { tokens }) => total + (tokens ?? 0), 0)
    const running = some.filter(({ tokens }) => tokens === null)
    const held = running.reduce((total, { tokensHeld }) => total + tokensHeld, 0)
    const leaves = some.findIndex((_, place) => usedFrom(place) < most)
    const last = some[(leaves === -1 ? some.length : leaves) - 1]
    const isUsedUp = usedFrom(0) >= most
    const crosses = running.length > 0 && usedFrom(0) + held + wanted > most
    const resetsAt = isUsedUp ? (last?.at ?? 0) + MINUTE : null
    return [isUsedUp || crosses, 'rate_limit_exceeded', 'tpm_limit', resetsAt, whose]
  }

  /** Rates and places in the order in which they refuse. */
  function* rates(claim: Claim, wanted: number): Generator<Rule> {
    const { keyId, endUser, at } = claim
    const limits = keys.get(keyId)?.limits ?? NO_LIMITS
    const { limits: shared } = accountOf(homeOf(keyId))
    const ours = admittedBy(homeOf(keyId))
    const mine = of(keyId)
    const theirs = mine.filter((one) => endUser !== null && one.endUser === endUser)
    const windows = [
      ['rpm_limit', mine, limits.rpm, MINUTE, null],
      ['rpd_limit', mine, limits.rpd, DAY, null],
      ['end_user_rpm', theirs, limits.endUserRpm, MINUTE, null],
      ['rpm_limit', ours, shared.rpm, MINUTE, 'account'],
      ['rpd_limit', ours, shared.rpd, DAY, 'account'],
    ] as const
    for (const [name, some, limit, span, whose] of windows) {
      if (limit === null) {
        if (name === 'rpd_limit') yield tokenRule(claim, wanted, whose)
        continue
      }
      const newestFirst = some
        .map((one) => one.at)
        .filter((taken) => taken + span > at)
        .sort((a, b) => b - a)
      const frees = (newestFirst[limit - 1] ?? 0) + span
      yield [newestFirst.length >= limit, 'rate_limit_exceeded', name, frees, whose]
      if (name === 'rpd_limit') yield tokenRule(claim, wanted, whose)
    }
    for (const [some, limit, whose] of [
      [mine, limits.concurrency, null],
      [ours, shared.concurrency, 'account'],
    ] as const) {
      const isFull = limit !== null && some.filter(({ cost }) => cost === null).length >= limit
      yield [isFull, 'concurrency_limit_exceeded', 'concurrency_limit', null, whose]
    }
  }

  /** The rules of contract §8 in their order, each with whether it refuses; the first that does is told. */
  function* rules(claim: Claim, { hold, tokens }: Granted): Generator<Rule> {
    const { keyId, at } = claim
    yield [keys.get(keyId)?.revoked ?? true, 'key_revoked', 'status', null, null]
    const ceilings = ceilingsOf(claim)
    for (const [ceiling, some, period, name, whose] of ceilings) {
      const isSpent = ceiling !== null && spent(some) >= ceiling
      yield [isSpent, `${period}_exceeded`, name, endOf(period, at), whose]
    }
    const { balance } = accountOf(homeOf(keyId))
    yield [balance <= 0n, 'insufficient_balance', 'balance_usd', null, null]
    yield* rates(claim, tokens)
    for (const [ceiling, some, , name, whose] of ceilings) {
      const crosses = ceiling !== null && spent(some) + held(some) + hold > ceiling
      yield [crosses && held(some) > 0n, 'spend_reserved', name, null, whose]
    }
    const everyHold = held(admittedBy(homeOf(keyId)))
    const crosses = everyHold > 0n && everyHold + hold > balance
    yield [crosses, 'spend_reserved', 'balance_usd', null, null]
  }

  /** What contract §8 lets a claim hold now: of what each limit has left, a thirty-second part beside others. */
  function holdOf(claim: Claim): Granted {
    const { offers } = claim
    const base = largest(offers.map((offer) => offer.base))
    const shares: bigint[] = []
    const share = (left: bigint, parts: bigint) =>
      shares.push(left - base <= 0n ? 0n : (left - base) / parts)
    for (const [ceiling, some, , , whose] of ceilingsOf(claim)) {
      if (ceiling === null) continue
      const left = ceiling - spent(some) - held(some)
      if (held(some) > 0n) share(left, 32n)
      else if (whose === 'account') share(left, 2n)
    }
    const everyHold = held(admittedBy(homeOf(claim.keyId)))
    share(accountOf(homeOf(claim.keyId)).balance - everyHold, everyHold > 0n ? 32n : 2n)
    const money = shares.reduce((least, one) => (one < least ? one : least))
    const granted = offers.map(
      ({ promptTokens, base: own, perMillion, choices, full, floor }): Granted => {
        const price = BigInt(choices) * perMillion
        const paid = price === 0n ? full : Number((money * 1_000_000n) / price)
        const bound = Math.min(full, Math.max(floor, paid))
        const hold = own + (price * BigInt(bound) + 999_999n) / 1_000_000n
        return { hold, tokens: promptTokens + choices * bound }
      },
    )
    return {
      hold: largest(granted.map(({ hold }) => hold)),
      tokens: Math.max(...granted.map(({ tokens }) => tokens)),
    }
  }

  function judge(claim: Claim, granted: Granted): Expected {
    for (const [refuses, code, limit, resetsAt, of] of rules(claim, granted)) {
      if (refuses) return { code, limit, of, resetsAt }
    }
    return { code: null, limit: null, of: null, resetsAt: null }
  }

  /** Contract §9 in its own words. */
  function judgeMark(
    account: PlainAccount,
    moved: 'debit' | 'credit' | 'threshold',
    at: number,
  ): void {
    const { balance, threshold, mark } = account
    const isBelow = threshold !== null && balance < threshold
    const isAbove = threshold !== null && balance > threshold
    const isDue = mark === null || (moved === 'debit' && at >= mark + DAY)
    if (threshold === null || (isAbove && moved !== 'debit')) account.mark = null
    if (isBelow && isDue) {
      account.mark = at
      account.told++
    }
  }

  const books: PlainBooks = {
    keys,
    accounts,
    requests,
    admit(claim) {
      const granted = holdOf(claim)
      const { hold } = granted
      const tokensHeld = Math.max(1, granted.tokens)
      const expected = judge(claim, granted)
      const { keyId, endUser, at } = claim
      const limits = keys.get(keyId)?.limits
      if (expected.code === null && limits) {
        requests.set(claim.generationId, {
          ...{ keyId, endUser, at, hold, limits, cost: null, tokensHeld, tokens: null },
          accountId: homeOf(keyId),
          accountLimits: accountOf(homeOf(keyId)).limits,
        })
      }
      return expected
    },
    resolve(id, cost, tokens, at) {
      const request = requests.get(id)
      if (request?.cost !== null) return false
      request.cost = cost
      request.tokens = tokens
      const account = accountOf(request.accountId)
      account.balance -= cost
      if (cost > 0n) judgeMark(account, 'debit', at)
      return true
    },
    topUp(accountId, amount, at) {
      const account = accountOf(accountId)
      account.balance += amount
      judgeMark(account, 'credit', at)
    },
    setThreshold(accountId, below, at) {
      const account = accountOf(accountId)
      account.threshold = below
      judgeMark(account, 'threshold', at)
    },
    move(keyId, accountId) {
      const key = keys.get(keyId)
      if (key === undefined || key.accountId === accountId) return
      key.accountId = accountId
    },
    crash() {
      for (const [id, { cost }] of requests) if (cost === null) books.resolve(id, 0n, 0, 0)
    },
    usage(keyId, now) {
      const mine = of(keyId)
      return {
        spendDay: spent(mine.filter(({ at }) => dateOf(at) === dateOf(now))),
        spendMonth: spent(mine.filter(({ at }) => monthOf(at) === monthOf(now))),
        reserved: held(mine),
        requestsInProgress: mine.filter(({ cost }) => cost === null).length,
      }
    },
    daysOf(id) {
      const days = Map.groupBy(admittedBy(id), ({ at }) => dateOf(at))
      return new Map(
        [...days].map(([date, some]) => [date, spent(some)] as const).filter(([, sum]) => sum > 0n),
      )
    },
    taken(limit, owner, now) {
      const account = accounts.has(owner as AccountId) ? (owner as AccountId) : null
      const some = account === null ? of(owner as KeyId) : admittedBy(account)
      const within = (span: number) => some.filter(({ at }) => at + span > now)
      const taken: Readonly<Record<RacedLimit, () => number>> = {
        rpm: () => within(MINUTE).length,
        rpd: () => within(DAY).length,
        tpm: () => within(MINUTE).reduce((total, one) => total + (one.tokens ?? one.tokensHeld), 0),
        concurrency: () => some.filter(({ cost }) => cost === null).length,
        dailySpend: () => promised(some.filter(({ at }) => dateOf(at) === dateOf(now))),
        monthlySpend: () => promised(some.filter(({ at }) => monthOf(at) === monthOf(now))),
      }
      return taken[limit]()
    },
    overshoots() {
      const periods = [
        [dateOf, 'dailySpend'],
        [monthOf, 'monthlySpend'],
      ] as const
      const owners = [...keys.keys()].map((keyId) => [keyId, of(keyId), 'limits'] as const)
      const shared = [...accounts.keys()].map(
        (id) => [id, admittedBy(id), 'accountLimits'] as const,
      )
      return [...owners, ...shared].flatMap(([owner, its, whose]) =>
        periods.flatMap(([periodOf, limit]) =>
          [...Map.groupBy(its, ({ at }) => periodOf(at))].flatMap(([period, some]) => {
            const ceilings = some.map((one) => one[whose][limit])
            if (ceilings.includes(null)) return []
            const bound =
              largest(ceilings.map((one) => one ?? 0n)) + largest(some.map((one) => one.hold))
            return spent(some) <= bound ? [] : [`${owner} ${limit} ${period}`]
          }),
        ),
      )
    },
  }
  return books
}

function endOf(ceiling: 'daily_spend_limit' | 'monthly_spend_limit', at: number): number {
  const date = new Date(at)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return ceiling === 'daily_spend_limit'
    ? Date.UTC(year, month, day + 1)
    : Date.UTC(year, month + 1)
}
