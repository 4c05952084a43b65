/** The dependencies of the HTTP API, and their defaults. */
import { AdmissionQueue } from '#domain/admission-queue.ts'
import type { Store } from '#domain/store.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { createSessionRoutes } from '#domain/walk/session-routes.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import { ByteBudget } from './read/byte-budget.ts'
import type { RequestLog } from './request-log.ts'
import { RunningWalks } from './running-walks.ts'
import { openSeals, type Seals } from './seals.ts'
import { CountLimits } from './surfaces/messages/count-limits.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'

export interface ApiDeps extends CompletionDeps {
  readonly store: Store
  readonly timings: Timings
  /** Every request to a model in progress. */
  readonly running: RunningWalks
  /** The memory of bodies and of answers that wait for their reader. */
  readonly memory: ByteBudget
  /** Of what clients keep for the gateway. */
  readonly seals: Seals
  /** What each key may count. */
  readonly counts: CountLimits
  /** The version of the binary, for the OpenAPI document. */
  readonly version: string
  /** Writes one line per request; null disables the log. */
  readonly log: RequestLog | null
  readonly leaving: Readonly<Leaving>
}

/** How far the gateway is on its way out. */
export interface Leaving {
  /** Balancers are to send no more. */
  isUnready: boolean
  /** It accepts no new chat requests, perhaps later than that. */
  isDraining: boolean
}

export const STAYING: Readonly<Leaving> = { isUnready: false, isDraining: false }

/** The required dependencies, and those with a default. */
export type ApiOptions = Omit<CompletionDeps, 'health' | 'sessions' | 'queue' | 'ended'> & {
  readonly store: Store
} & Partial<ApiDeps>

export const toApiDeps = (options: ApiOptions): ApiDeps => ({
  health: createHopHealth(options.clock),
  sessions: createSessionRoutes(),
  queue: new AdmissionQueue({
    clock: options.clock,
    store: options.store,
    waitMs: options.settings.reserveWaitMs,
  }),
  timings: DEFAULT_TIMINGS,
  running: new RunningWalks(),
  memory: new ByteBudget(options.settings.memoryBudgetBytes),
  seals: openSeals(null),
  counts: new CountLimits(),
  version: '0',
  log: null,
  ended: () => {},
  leaving: STAYING,
  ...options,
})
