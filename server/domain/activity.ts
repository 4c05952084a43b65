/** The activity log: one line per request, admitted or refused, never its text. */
import type { Instant } from './clock.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { UsageSource } from './ledger.ts'
import type { RubMicros, UsdNanos } from './money.ts'
import type { Usage } from './usage.ts'

/** Who ended a request: it ran to its end, the client hung up, the upstream broke, the gateway stopped, or it was refused. */
export type EndedBy = 'completed' | 'client' | 'upstream' | 'gateway' | 'refused'

export interface ActivityEntry {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly model: string
  readonly provider: string | null
  readonly endUser: string | null
  readonly stream: boolean
  /** The status sent; 499 when the client had gone before one could be. */
  readonly status: number
  /** The error's code, null on success. */
  readonly code: string | null
  readonly endedBy: EndedBy
  readonly finishReason: string | null
  readonly startedAt: Instant
  /** First event of content; null when none came. */
  readonly firstEventMs: number | null
  readonly totalMs: number
  readonly usage: Usage
  readonly usageSource: UsageSource | null
  readonly cost: UsdNanos
  readonly costRub: RubMicros
}

export interface ActivityQuery {
  readonly accountId?: AccountId
  readonly keyId?: KeyId
  readonly since?: Instant
  readonly limit: number
}

/** Port: the log's own writing and reading; admitted requests come in through `Admissions.settle`. */
export interface Activity {
  /** Notes a refused request. Kept soon, not before it resolves: nothing hangs on it. */
  note(entry: ActivityEntry): void
  /** Newest first. */
  list(query: ActivityQuery): Promise<readonly ActivityEntry[]>
  find(id: GenerationId): Promise<ActivityEntry | undefined>
}
