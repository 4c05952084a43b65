/** The dependencies of the HTTP API, and their defaults. */
import type { CompletionDeps } from '#domain/completion.ts'
import { createHopHealth } from '#domain/hop-health.ts'
import type { Store } from '#domain/store.ts'
import { createDisconnects, type Disconnects } from './disconnects.ts'
import { createFirstRuns, type FirstRuns } from './first-runs.ts'
import type { RequestLog } from './request-log.ts'
import { createRunningWalks, type RunningWalks } from './running-walks.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'

export interface ApiDeps extends CompletionDeps {
  readonly store: Store
  readonly timings: Timings
  /** Every chat request in progress. */
  readonly running: RunningWalks
  /** Notices when the client of one of them has left. */
  readonly disconnects: Disconnects
  /** Those of them that their clients may repeat, and the answers kept of earlier ones. */
  readonly firstRuns: FirstRuns
  /** Of the binary; stated in the OpenAPI document. */
  readonly version: string
  /** One line per request; null keeps no log. */
  readonly log: RequestLog | null
  /** True once the gateway takes no new chat requests. */
  draining(): boolean
  /** Called when a body is read: from here on silence is the upstream's, and the listener must not cut it. */
  holdOpen(request: Request): void
  /** Called when the answer is complete: an idle connection may be closed again. */
  letIdle(request: Request): void
}

/** The required dependencies, and those with a default. */
export type ApiOptions = Omit<CompletionDeps, 'health'> & {
  readonly store: Store
} & Partial<ApiDeps>

export const toApiDeps = (options: ApiOptions): ApiDeps => ({
  health: createHopHealth(options.clock),
  timings: DEFAULT_TIMINGS,
  running: createRunningWalks(),
  disconnects: createDisconnects(),
  firstRuns: createFirstRuns(options.store),
  version: '0',
  log: null,
  draining: () => false,
  holdOpen: () => {},
  letIdle: () => {},
  ...options,
})
