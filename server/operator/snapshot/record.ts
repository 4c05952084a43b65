/** The snapshot that the dashboard displays, as sent over the operator's socket. */

import type { LimitsOfEach } from '#domain/limits.ts'
import type { NodeRecord } from '#domain/node.ts'
import type { Channel, NoticeState } from '#domain/notice.ts'
import type { AttemptRecord } from '#domain/receipt-report.ts'
import type { InFlightState } from '#domain/snapshot/in-flight.ts'
import type { Period } from '#domain/snapshot/pace.ts'
import type { ActivityRecord } from '../activity-record.ts'
import type { CredentialTroubleRecord } from '../credential-trouble.ts'
import type { HealthRecord } from '../hop-record.ts'
import type { NoticeRecord } from '../notices.ts'

/** Money is a decimal string in dollars, shares are in percent, times are RFC 3339; null is unknown or not applicable. */
export interface SnapshotRecord {
  readonly at: string
  /** The name of the account that `in_flight`, `log` and `errors` are of; null: of all. Money and keys are those of `money.account`. */
  readonly account: string | null
  readonly gateway: GatewayRecord
  readonly in_flight: InFlightSumRecord
  readonly traffic: TrafficRecord
  readonly money: MoneyRecord
  readonly keys: KeysRecord
  readonly models: readonly ModelTrafficRecord[]
  readonly providers: readonly ProviderTrafficRecord[]
  readonly notices: NoticesRecord
  /** Of the requests of `account`; null while the log is read for the first time. */
  readonly trends: TrendsRecord | null
  /** Newest first, at most `MAX_RECENT`. */
  readonly log: readonly LogRecord[]
  /** Failed requests, which a busy hour would push out of `log`. */
  readonly errors: readonly LogRecord[]
}

/** What the gateway told its operator. */
export interface NoticesRecord {
  readonly unseen: number
  /** Newest first. */
  readonly latest: readonly NoticeRecord[]
}

/** The difference to the previous frame: changed parts (complete) and new log entries. The first frame has every part. */
export interface FrameRecord extends Partial<SnapshotRecord> {
  readonly at: string
}

export interface GatewayRecord {
  readonly version: string
  /** How many there are. */
  readonly accounts: number
  readonly base_url: string
  readonly listen: string
  readonly pid: number
  readonly started_at: string
  readonly uptime_seconds: number
  readonly healthy: boolean
  /** Accepts no new requests and stops when those in progress have ended. */
  readonly draining: boolean
  /** Those that share the store; null where one process has it. */
  readonly nodes: readonly NodeRecord[] | null
}

export interface InFlightSumRecord {
  readonly count: number
  /** Since the start. */
  readonly peak: number
  /** Oldest first; the oldest `MAX_REQUESTS` where there are more. */
  readonly requests: readonly InFlightRecord[]
}

/** What only its node knows is null of another's. */
export interface InFlightRecord {
  /** Null where one process has the store. */
  readonly node: string | null
  readonly id: string
  readonly request_id: string
  readonly key_id: string
  readonly key_name: string
  readonly user: string | null
  readonly surface: string
  readonly session: string | null
  readonly model: string
  /** Null while it waits for its admission. */
  readonly provider: string | null
  readonly stream: boolean | null
  readonly state: InFlightState
  readonly arrived_at: string
  readonly elapsed_ms: number
  readonly first_byte_ms: number | null
  /** Counted or estimated so far; the provider's usage arrives last. */
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  readonly tokens_per_second: number | null
  readonly cost_usd: string | null
  readonly failed_attempts: number | null
}

/** Of the last five minutes, or less if the buffer does not reach back so far. */
export interface TrafficRecord {
  readonly seconds: number
  readonly requests_per_minute: number
  readonly tokens_per_second: number
  readonly total_ms: PercentilesRecord
  readonly first_byte_ms: PercentilesRecord
  /** The share of ended requests with status 5xx. */
  readonly error_percent: number | null
  readonly ok: number
  readonly failed: readonly StatusCountRecord[]
  readonly spend_per_hour_usd: string
  readonly curves: CurvesRecord
}

/** From the log, read again every minute. UTC, oldest first; the last point has just begun. */
export interface TrendsRecord {
  readonly hours: readonly TrendPointRecord[]
  readonly days: readonly TrendPointRecord[]
}

export interface TrendPointRecord {
  /** When it began. */
  readonly at: string
  /** With those that were refused. */
  readonly requests: number
  /** With a status of 500 or more. */
  readonly failed: number
  readonly refused: number
  /** From arrival to the first content; null where nothing was answered. */
  readonly first_byte_mean_ms: number | null
  readonly tokens: number
  readonly spend_usd: string
}

export interface PercentilesRecord {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface StatusCountRecord {
  readonly status: number
  readonly count: number
}

/** Oldest first, the last point ending now. */
export interface CurvesRecord {
  readonly step_seconds: number
  readonly requests_per_second: readonly number[]
  readonly tokens_per_second: readonly number[]
  readonly first_byte_ms: readonly (number | null)[]
}

/** Of one account. */
export interface MoneyRecord {
  readonly account: string
  readonly balance_usd: string
  readonly spend_day_usd: string
  readonly spend_month_usd: string
  /** Of its own limits; null where it has none that is used up. */
  readonly gauges: GaugesRecord | null
  /** The sum of its keys' spend limits; null when no key has one or there are too many keys. */
  readonly day_caps_usd: string | null
  readonly month_caps_usd: string | null
  readonly day_percent: number | null
  readonly month_percent: number | null
  readonly runway: RunwayRecord
  readonly threshold_usd: string | null
  readonly marked: boolean
  readonly notified_at: string | null
  readonly channels: readonly ChannelRecord[]
  readonly rub_per_usd: string
  readonly rate_set_at: string | null
}

export interface RunwayRecord {
  /** Null when nothing is spent. */
  readonly seconds: number | null
  readonly mean_day_usd: string
  /** The number of full days in the mean; 0 for today's pace. */
  readonly days: number
}

export interface ChannelRecord {
  readonly channel: Channel
  /** The state of its last notice; null without one. */
  readonly last: NoticeState | null
}

export interface KeysRecord {
  /** Without revoked keys. */
  readonly total: number
  /** Keys used in the last five minutes or in use now. */
  readonly active: number
  /** The nearest to a limit first; at most `MAX_KEY_ROWS`. */
  readonly rows: readonly KeyRowRecord[]
  /** Of these keys and their account, and of accounts that are shown beside it; the worst first. */
  readonly warnings: readonly WarningRecord[]
}

/** How much of a limit is used: `near` from 90 % on, `full` at all of it. */
export type Level = 'ok' | 'near' | 'full'

export interface GaugeRecord {
  /** Null when it is not known without scanning the log. */
  readonly used: number | null
  readonly limit: number | null
  readonly percent: number | null
  readonly level: Level
  /** When the next slot becomes free; null without a window or when it is empty. */
  readonly frees_in_seconds: number | null
}

export interface SpendGaugeRecord {
  readonly spent_usd: string
  readonly limit_usd: string | null
  readonly percent: number | null
  readonly level: Level
  readonly resets_in_seconds: number
}

/** What is used of each limit of a key or an account. */
export interface GaugesRecord {
  readonly minute: GaugeRecord
  readonly day: GaugeRecord
  readonly tokens: GaugeRecord
  readonly concurrency: GaugeRecord
  readonly spend_day: SpendGaugeRecord
  readonly spend_month: SpendGaugeRecord
}

/** With the limits of which nothing is used up. */
export interface KeyRowRecord extends LimitsOfEach, GaugesRecord {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly kind: string
  readonly status: string
  readonly created_at: string
  readonly last_used_at: string | null
  readonly allowed_models: readonly string[] | null
  /** The worst of all of them. */
  readonly level: Level
  /** Of the fullest of its limits; null where it has none. */
  readonly percent: number | null
  /** Null when it was not used. */
  readonly lately: KeyTrafficRecord | null
}

/** Of the last hour, or less if the buffer does not reach back so far. */
export interface KeyTrafficRecord {
  readonly seconds: number
  readonly ok: number
  readonly failed: readonly StatusCountRecord[]
  readonly p95_ms: number | null
  readonly cached_percent: number | null
  readonly models: readonly { readonly name: string; readonly percent: number | null }[]
  readonly users: readonly { readonly name: string | null; readonly cost_usd: string }[]
  /** Requests of the last five minutes, a point for every 15 s. */
  readonly curve: readonly number[]
}

export interface WarningRecord {
  /** Null where it is a limit of the account itself. */
  readonly key_id: string | null
  readonly key_name: string | null
  /** The name of the account. */
  readonly account: string
  readonly what: 'rpm' | 'rpd' | 'tpm' | 'concurrency' | Period
  /** The percentage of a spend limit that is used; always 100 for other limits. */
  readonly level: 50 | 80 | 100
  readonly used: string
  readonly limit: string
  /** When the spend limit will be reached at this pace; null unless that is before the reset. */
  readonly reached_at: string | null
  readonly resets_at: string | null
}

/** Of the last five minutes, and of the UTC day. */
export interface ModelTrafficRecord {
  readonly model: string
  /** Its other names. */
  readonly aliases: readonly string[]
  readonly providers: readonly string[]
  readonly requests_per_minute: number
  readonly in_flight: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly first_byte_p50_ms: number | null
  readonly tokens_per_second: number | null
  readonly error_percent: number | null
  readonly requests_day: number
  readonly spend_day_usd: string
  readonly share_percent: number | null
}

export interface ProviderTrafficRecord {
  readonly name: string
  readonly type: string
  readonly models: number
  readonly health: HealthRecord
  /** Of several, those that rest or were refused. */
  readonly credentials: readonly CredentialTroubleRecord[]
  /** `ok`, `degraded` (less than 99 % served in five minutes), `down` (it rests, or nothing was served), `unused`. */
  readonly state: 'ok' | 'degraded' | 'down' | 'unused'
  readonly served_percent: number | null
  readonly p95_ms: number | null
  readonly requests: number
  readonly in_flight: number
  /** Its own failures, also those followed by a fallback; status is null without an answer. */
  readonly failed: readonly { readonly status: number | null; readonly count: number }[]
}

export interface LogRecord extends ActivityRecord {
  /** The error sent to the client, or the last provider's; null on success. */
  readonly message: string | null
  readonly attempts: readonly AttemptRecord[]
}
