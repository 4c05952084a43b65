/** What an operator's verb is given, whether a server runs or a command opened the store by itself. */
import type { Clock, Instant } from '#domain/clock.ts'
import type { HopReading } from '#domain/hop-health.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { Probe } from '#domain/probe.ts'
import type { Provider } from '#domain/provider.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import type { GatewayStore } from '#signin/store.ts'

/** What only a running server knows. */
export interface LiveFacts {
  /** `host:port` */
  readonly listen: string
  /** As applications type it, `/v1` included. */
  readonly baseUrl: string
  /** Where people sign in; null when the sign-in provider is off. */
  readonly authUrl: string | null
  readonly pid: number
  readonly startedAt: Instant
  /** Requests in progress now. */
  inFlight(): number
  /** The hops that have failed lately. */
  hops(): readonly HopReading[]
  /** Its requests, those in progress and the last that ended. */
  readonly watch: Watch
}

/** What notices can leave by, as this process is configured. */
export interface DeliveryConfig {
  /** Whether a mail server is known. */
  readonly smtp: boolean
  /** Webhooks may go to this very machine without TLS: for trying them out. */
  readonly loopbackWebhooks: boolean
}

/** The built-in provider and its priced models. */
export interface DemoKit {
  readonly provider: Provider
  readonly cards: readonly ModelCard[]
}

export interface OperatorDeps {
  readonly store: GatewayStore
  readonly clock: Clock
  readonly version: string
  /** Null when everything is kept in memory. */
  readonly dataDir: string | null
  /** Null while no server runs. */
  readonly live: LiveFacts | null
  /** Who acts, as far as the system knows: "uid 1000 (ann)". */
  readonly who: string
  readonly delivery: DeliveryConfig
  /** Reaches out to providers; handed in, because `operator` may not import `upstream`. */
  readonly probe: Probe
  /** Handed in likewise; asked for by `init` alone. */
  demoKit(at: Instant): Promise<DemoKit>
}
