/** The activity log: one line per request, admitted or refused, never its text. */
import { DAY_MS, type Instant } from './clock.ts'
import type { Drift } from './drift.ts'
import type { ErrorMetadata } from './errors.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { UsageSource } from './ledger.ts'
import type { ImageChoice } from './model-card.ts'
import { addUsd, NO_MONEY, type RubMicros, type UsdNanos } from './money.ts'
import type { ServedDay, ServedQuery } from './reconcile/served.ts'
import type { TrendHour, TrendQuery } from './trend.ts'
import type { FailureKind } from './upstream.ts'
import type { Usage } from './usage.ts'
import type { UsageQuery, UsageReport } from './usage-report.ts'
import type { Dialect } from './work.ts'

/** Who ended a request: it ran to its end, the client hung up, the upstream broke, the gateway stopped, or it was refused. */
export type EndedBy = 'completed' | 'client' | 'upstream' | 'gateway' | 'refused'

/** nginx's status for a client that left before it was answered: logged, and never sent. */
export const CLIENT_CLOSED_REQUEST = 499

/** A failed attempt: a hop that was sent the request and gave no answer, or an incomplete one. */
export interface FailedAttempt {
  readonly model: string
  readonly provider: string
  /** By name, where the provider has several. */
  readonly credential?: string
  readonly outcome: FailureKind
  /** The provider's own status, where one came. */
  readonly status: number | null
  /** The provider's own words, cleared of addresses and credentials. */
  readonly reason: string
  /** From sending the request until the failure. */
  readonly ms: number
  /** What the operator bears because no key was charged: the output produced, at the model's price. */
  readonly operatorCost: UsdNanos
}

/** What the log keeps of a refusal, as it was sent to the client; long texts are cut. */
export interface LoggedRefusal {
  readonly message: string
  /** Which limit, its value, what was used, and when it lifts; null where no limit refused it. */
  readonly metadata: ErrorMetadata | null
  /** The highest possible cost of the request; null if it was refused before that was known. */
  readonly hold: UsdNanos | null
}

export interface ActivityEntry {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly model: string
  readonly provider: string | null
  /** By name, where the provider has several. */
  readonly credential: string | null
  readonly endUser: string | null
  /** The surface that it came to. */
  readonly surface: Dialect
  /** As the client names it; null where it names none. */
  readonly session: string | null
  /** That it came to; null where one process has the store. */
  readonly node: string | null
  readonly stream: boolean
  /** The status sent; 499 when the client had gone before one could be. */
  readonly status: number
  /** The error's code, null on success. */
  readonly code: string | null
  readonly endedBy: EndedBy
  readonly finishReason: string | null
  readonly startedAt: Instant
  /** From arrival to admission. */
  readonly queuedMs: number
  /** First event of content; null when none came. */
  readonly firstEventMs: number | null
  readonly totalMs: number
  readonly usage: Usage
  readonly usageSource: UsageSource | null
  /** Names of the modifiers in the price: `service_tier=priority`. */
  readonly modifiers: readonly string[]
  /** Types of the vendor's tools that were cut from the request, because its model has no price for them. */
  readonly cutTools: readonly string[]
  readonly cost: UsdNanos
  readonly costRub: RubMicros
  /** Size and quality that the image price was looked up by; null where no image was charged by the piece. */
  readonly image: ImageChoice | null
  /** The cost stated by the provider, for comparison (quirks §1); null where it states none. */
  readonly statedCost: UsdNanos | null
  /** In the order they were made, the last one too if it failed. */
  readonly failedAttempts: readonly FailedAttempt[]
  /** What the operator bears beside the charge: images that were withheld, and words that are surely beyond the bound. */
  readonly unchargedCost: UsdNanos
  /** What was held for it; null where nothing was. A higher cost is a provider's that counted more than it was bound to. */
  readonly hold: UsdNanos | null
  /** The bound of the answer, in tokens, where it was lower than the client's own or the model's; else null. */
  readonly loweredBound: number | null
  /** Null unless it was refused. */
  readonly refusal: LoggedRefusal | null
}

/** Whether a provider that counted more than it was bound to made a request cost more than was held for it. */
export const isBeyondHold = ({ cost, hold }: ActivityEntry): boolean => hold !== null && cost > hold

/** What a request cost the operator, charged to nobody: its failed attempts, and what its answer had beyond the charge. */
export const operatorCost = (
  entry: Pick<ActivityEntry, 'failedAttempts' | 'unchargedCost'>,
): UsdNanos => addUsd(failureCost(entry.failedAttempts), entry.unchargedCost)

/** What failed attempts cost the operator together. */
export const failureCost = (attempts: readonly FailedAttempt[]): UsdNanos =>
  attempts.reduce((sum, attempt) => addUsd(sum, attempt.operatorCost), NO_MONEY)

/** A query of the log; an entry must match every filter. */
export interface ActivityQuery {
  readonly accountId?: AccountId
  readonly keyId?: KeyId
  /** Only of keys that this person made. */
  readonly madeBy?: string
  /** The caller's own name for a request; several may carry the same. */
  readonly requestId?: string
  /** The last characters of the generation's id; several may end alike. */
  readonly idEnd?: string
  /** The model that served, or the one asked for where none did. */
  readonly model?: string
  /** The provider that served. */
  readonly provider?: string
  readonly endUser?: string
  readonly surface?: Dialect
  /** Both included. */
  readonly status?: { readonly least: number; readonly most: number }
  readonly leastTotalMs?: number
  /** Only what did not run to its end. */
  readonly errorsOnly?: boolean
  /** Arrived at this instant or later. */
  readonly since?: Instant
  /** Arrived before this instant. */
  readonly until?: Instant
  /** Only requests older than this one: the last of the page before. */
  readonly before?: GenerationId
  readonly limit: number
}

/** Like a list, of so many lines of the log, whosever they are: few may match of very many. */
export interface ActivitySearch extends ActivityQuery {
  readonly lines: number
}

export interface FoundActivity {
  /** Newest first. */
  readonly entries: readonly ActivityEntry[]
  /** The last line that was looked at, where there may be older ones; null where the page is full, or none is left. */
  readonly searchedTo: GenerationId | null
}

/** How long the log keeps a request that has ended, by default. The ledger is kept for ever in any case. */
export const ACTIVITY_KEPT_MS = 90 * DAY_MS

/** Windows of requests are read back from the log after a restart, and the longest looks back for a day (contract §8). */
export const MIN_ACTIVITY_KEPT_MS = DAY_MS

export type DriftQuery = Pick<ActivityQuery, 'accountId' | 'since' | 'until'>

/** Port: the log's own writing and reading; admitted requests come in through `Admissions.settle`. */
export interface Activity {
  /** Logs a refused request. It is written shortly after; the caller does not wait, because no money depends on it. */
  note(entry: ActivityEntry): void
  /** Newest first. */
  list(query: ActivityQuery): Promise<readonly ActivityEntry[]>
  /** The same within a bound, for whoever is waiting: it goes on with `before`. */
  search(query: ActivitySearch): Promise<FoundActivity>
  /** How many requests match. */
  count(query: Omit<ActivityQuery, 'limit'>): Promise<number>
  find(id: GenerationId): Promise<ActivityEntry | undefined>
  /** Compares, model by model, charges with what providers stated for the same requests; in order of models. */
  drift(query: DriftQuery): Promise<readonly Drift[]>
  /** Sums the usage of requests that have ended; one that ends during the query may be included. @throws store_unavailable */
  usage(query: UsageQuery): Promise<UsageReport>
  /** Adds up what one provider served, day by day, for a comparison with its bill. @throws store_unavailable */
  served(query: ServedQuery): Promise<readonly ServedDay[]>
  /** The hours in which requests arrived, oldest first, without those that had none. @throws store_unavailable */
  trend(query: TrendQuery): Promise<readonly TrendHour[]>
  /**
   * Removes lines of requests that ended before `before`, the oldest first and at most `limit`; answers how many, fewer
   * only when none is left, or while the disk takes no writes. No sum, hold or window may need them any more.
   */
  trim(before: Instant, limit: number): Promise<number>
  /** Requests that ended before this may be missing; null where none was ever removed. */
  keptSince(): Promise<Instant | null>
}
