/**
 * The limits, each declared once: its names, its unit and its words. The API's forms and description, the flags, files for
 * `apply`, the store, lists, refusals and `why` draw what they need from here; what a limit does is in `admission.ts`.
 */
import { renderUsd, type UsdNanos } from './money.ts'

/** How a limit's value is written, and by which type it is known. Counts are at least 1. */
interface Units {
  /** A count of what a window keeps one by one, so that it has a maximum. */
  readonly slots: { readonly value: number; readonly record: number }
  readonly count: { readonly value: number; readonly record: number }
  readonly usd: { readonly value: UsdNanos; readonly record: string }
  /** Exact ids, `<provider>/*`, or `*`. */
  readonly masks: { readonly value: readonly string[]; readonly record: readonly string[] }
}

export type Unit = keyof Units

interface Declaration {
  /** In the API, in files and in refusals. */
  readonly name: string
  readonly unit: Unit
  /** Of `limits set` and `keys create`, without its dashes. */
  readonly flag: string
  /** What it bounds, for the API's description and the flag's help. */
  readonly about: string
  /** The heading of its column. */
  readonly title: string
  /** "60 req/min", for people; money comes with its sign. */
  readonly say: (value: string) => string
  /** The same where it is not set; absent: nothing is said then. */
  readonly sayUnset?: string
  /** Of few keys: lists show it only where one has it. */
  readonly isRare?: boolean
  /** Of each end user or of each answer: of the key itself nothing is used up. */
  readonly isOfEach?: boolean
  /** What a window counts: "requests in 60 seconds", and what frees. */
  readonly counts?: readonly [what: string, frees: string]
  /** Bounds each request by itself: nothing is counted for it. */
  readonly isBound?: boolean
  /** Of keys alone: an account has none. */
  readonly isOfKey?: boolean
  /** Its label in metrics; its name where absent. */
  readonly metric?: string
}

const DECLARED = {
  rpm: {
    name: 'rpm_limit',
    unit: 'slots',
    flag: 'rpm',
    about: 'Requests in any 60 seconds',
    title: 'rpm',
    say: (count) => `${count} req/min`,
    sayUnset: 'no limit per minute',
    counts: ['requests in 60 seconds', 'a slot frees'],
    metric: 'rpm',
  },
  rpd: {
    name: 'rpd_limit',
    unit: 'slots',
    flag: 'rpd',
    about: 'Requests in any 24 hours',
    title: 'rpd',
    say: (count) => `${count} req/day`,
    sayUnset: 'no daily request limit',
    counts: ['requests in 24 hours', 'a slot frees'],
    metric: 'rpd',
  },
  tpm: {
    name: 'tpm_limit',
    unit: 'count',
    flag: 'tpm',
    about: 'Tokens of prompts and answers in any 60 seconds',
    title: 'tpm',
    say: (count) => `${count} tokens/min`,
    isRare: true,
    counts: ['tokens in 60 seconds', 'room for this request frees'],
    metric: 'tpm',
  },
  concurrency: {
    name: 'concurrency_limit',
    unit: 'count',
    flag: 'concurrency',
    about: 'Requests in progress at once',
    title: 'conc',
    say: (count) => `${count} at once`,
    metric: 'concurrency',
  },
  dailySpend: {
    name: 'daily_spend_limit_usd',
    unit: 'usd',
    flag: 'daily-usd',
    about: 'Ceiling of a UTC day',
    title: 'day $',
    say: (usd) => `${usd}/day`,
    sayUnset: 'no daily ceiling',
    metric: 'day',
  },
  monthlySpend: {
    name: 'monthly_spend_limit_usd',
    unit: 'usd',
    flag: 'monthly-usd',
    about: 'Ceiling of a UTC calendar month',
    title: 'month $',
    say: (usd) => `${usd}/month`,
    metric: 'month',
  },
  endUserRpm: {
    name: 'end_user_rpm',
    unit: 'slots',
    flag: 'end-user-rpm',
    about: 'Requests of each end user (`user`) in any 60 seconds',
    title: 'user rpm',
    say: (count) => `${count} req/min per user`,
    isRare: true,
    isOfEach: true,
    isOfKey: true,
    counts: ['requests in 60 seconds', 'a slot frees'],
  },
  endUserDailySpend: {
    name: 'end_user_daily_usd',
    unit: 'usd',
    flag: 'end-user-daily-usd',
    about: 'Ceiling of each end user in a UTC day',
    title: 'user day $',
    say: (usd) => `${usd}/day per user`,
    isRare: true,
    isOfEach: true,
    isOfKey: true,
  },
  maxOutputTokens: {
    name: 'max_output_tokens',
    unit: 'count',
    flag: 'max-output-tokens',
    about: 'Output tokens of one answer, which ends there with `length`',
    title: 'max out',
    say: (count) => `${count} tokens an answer`,
    isRare: true,
    isOfEach: true,
    isBound: true,
  },
  allowedModels: {
    name: 'allowed_models',
    unit: 'masks',
    flag: 'allow',
    about:
      'The models that may be called: exact ids, `<provider>/*` or `*`. Null allows every model',
    title: 'models',
    say: (masks) => masks || 'no models',
    sayUnset: 'all models',
    isBound: true,
    metric: 'model',
  },
} as const satisfies Readonly<Record<string, Declaration>>

type Declared = typeof DECLARED

/** A limit by its name in the code. */
export type Limit = keyof Declared
/** A limit by its name in the API. */
export type LimitName = Declared[Limit]['name']

/** What a key, or all keys of an account together, may do; null is no limit. */
export type Limits = {
  readonly [L in Limit]: Units[Declared[L]['unit']]['value'] | null
}

/** The same in the API: money as decimal strings. */
export type LimitsRecord = {
  readonly [L in Limit as Declared[L]['name']]: Units[Declared[L]['unit']]['record'] | null
}

/** For each limit by its name in the API, what `ByUnit` has for its unit. */
export type PerLimit<ByUnit extends Readonly<Record<Unit, unknown>>> = {
  readonly [L in Limit as Declared[L]['name']]: ByUnit[Declared[L]['unit']]
}

export interface DeclaredLimit extends Declaration {
  readonly limit: Limit
  readonly name: LimitName
}

/** In the order in which they are listed. */
export const LIMITS: readonly DeclaredLimit[] = Object.entries<Omit<DeclaredLimit, 'limit'>>(
  DECLARED,
).map(([limit, declared]) => ({ ...declared, limit: limit as Limit }))

export const NO_LIMITS = Object.fromEntries(LIMITS.map(({ limit }) => [limit, null])) as Limits

/** Whether one is set for which something is counted. */
export const isUsedUp = (limits: Limits): boolean =>
  LIMITS.some(({ limit, isBound }) => !isBound && limits[limit] !== null)

const BY_NAME: ReadonlyMap<string, DeclaredLimit> = new Map(LIMITS.map((one) => [one.name, one]))

/** The limit that the API calls so; none for what is no limit: a balance. */
export const limitNamed = (name: string): DeclaredLimit | undefined => BY_NAME.get(name)

/** What `of` makes of each limit's declaration, by its name in the API. */
export const forEachLimit = <ByUnit extends Readonly<Record<Unit, unknown>>>(
  of: (declared: DeclaredLimit) => ByUnit[Unit],
): PerLimit<ByUnit> =>
  Object.fromEntries(LIMITS.map((declared) => [declared.name, of(declared)])) as PerLimit<ByUnit>

export const renderLimits = (limits: Limits): LimitsRecord =>
  Object.fromEntries(
    LIMITS.map(({ limit, name, unit }) => {
      const value = limits[limit]
      return [name, unit === 'usd' && value !== null ? renderUsd(value as UsdNanos) : value]
    }),
  ) as LimitsRecord

/** "60 req/min"; null where nothing is said of one that is not set. */
export function sayLimit({ name, unit, say, sayUnset }: DeclaredLimit, of: Partial<LimitsRecord>) {
  const value = of[name] ?? null
  if (value === null) return sayUnset ?? null
  if (typeof value === 'object') return say(value.join(', '))
  return say(unit === 'usd' ? `$${value}` : String(value))
}

type LimitOfKey = { [L in Limit]: Declared[L] extends { isOfKey: true } ? L : never }[Limit]
/** The limits that an account may have. */
export type AccountLimitsRecord = Omit<LimitsRecord, Declared[LimitOfKey]['name']>

export const ACCOUNT_LIMITS = LIMITS.filter(
  (one): one is DeclaredLimit & { readonly name: keyof AccountLimitsRecord } => !one.isOfKey,
)

export const renderAccountLimits = (limits: Limits): AccountLimitsRecord => {
  const all = renderLimits(limits)
  return Object.fromEntries(
    ACCOUNT_LIMITS.map(({ name }) => [name, all[name]]),
  ) as unknown as AccountLimitsRecord
}

/** The limits that few keys have. */
export const RARE_LIMITS = LIMITS.filter(({ isRare }) => isRare)

type LimitOfEach = { [L in Limit]: Declared[L] extends { isOfEach: true } ? L : never }[Limit]
/** The limits of which nothing is used up. */
export type LimitsOfEach = Pick<LimitsRecord, Declared[LimitOfEach]['name']>

export const LIMITS_OF_EACH = LIMITS.filter(({ isOfEach }) => isOfEach)

export const renderLimitsOfEach = (limits: Limits): LimitsOfEach => {
  const all = renderLimits(limits)
  return Object.fromEntries(LIMITS_OF_EACH.map(({ name }) => [name, all[name]])) as LimitsOfEach
}
