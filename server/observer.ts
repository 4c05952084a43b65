/** Metrics and traces, loaded only if an operator enabled them. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { Channel, DeliveryTry } from '#domain/notice.ts'
import type { RequestLog } from '#http/request-log.ts'
import type { SigninEvent } from '#signin/register/signin-event.ts'
import type { MetricsDeps } from '#telemetry/collect-metrics.ts'
import type { Tally } from '#telemetry/tally.ts'
import type { Tracer, TraceTarget } from '#telemetry/tracer.ts'
import { type Listener, listen, type Place } from './listener.ts'
import type { Fetch, Serving } from './serving.ts'

export interface TelemetryOptions {
  /** The metrics listener; null disables metrics. */
  readonly metrics: MetricsOptions | null
  /** Where spans are sent; null disables traces. */
  readonly traces: TraceTarget | null
}

export interface MetricsOptions {
  readonly listen: Place
  /** The bearer token of scrapes; null requires none, on loopback. */
  readonly token: string | null
  /** Turns what `listen` throws into an error for the operator. */
  refused?(cause: unknown): unknown
}

interface Observed {
  readonly clock: Clock
  readonly version: string
  readonly log: RequestLog | null
  readonly telemetry: TelemetryOptions | undefined
  logFault(cause: unknown): void
}

/** What a scrape reads. */
export interface ScrapeDeps {
  readonly store: MetricsDeps['store']
  readonly clock: Clock
  readonly version: string
  readonly serving: Serving
}

type Ended = (entry: ActivityEntry, at: Instant) => void

export interface Observer {
  /** The observed log, for the gateway to use. */
  readonly log: RequestLog | null
  /** Wraps what hears of every request that has ended. */
  ending(note: Ended): Ended
  /** A notice was tried. */
  tried(channel: Channel, attempt: DeliveryTry): void
  /** Somebody signed in, or was refused. */
  signedIn(event: SigninEvent): void
  /** Wraps the API. */
  before(fetch: Fetch): Fetch
  /** Listens for scrapes and returns the address; null if metrics are disabled. @throws the error that `refused` returns */
  open(deps: ScrapeDeps): string | null
  stop(): Promise<void>
}

/** Loads what is enabled. */
export async function startObserver(observed: Observed): Promise<Observer> {
  const { log, telemetry } = observed
  const metrics = telemetry?.metrics ?? null
  const tally = metrics && (await import('#telemetry/tally.ts')).startTally()
  const target = telemetry?.traces ?? null
  const tracer = target && (await import('#telemetry/tracer.ts')).startTracer(target, observed)
  let listener: Listener | null = null
  return {
    log: tally === null ? log : watchLog(log, tally),
    ending: (note) => {
      if (tally === null && tracer === null) return note
      return (entry, at) => {
        tally?.ended(entry)
        tracer?.ended(entry)
        note(entry, at)
      }
    },
    tried: (channel, attempt) => tally?.tried(channel, attempt),
    signedIn: ({ clientId, outcome }) => tally?.signedIn(clientId ?? '', outcome),
    before: (fetch) => (tracer === null ? fetch : withTraceParent(fetch, tracer)),
    open(deps) {
      if (metrics === null || tally === null) return null
      listener = openMetrics(metrics, tally, deps)
      return `${listener.url}/metrics`
    },
    async stop() {
      await Promise.all([listener?.close(), tracer?.stop()])
    },
  }
}

const watchLog =
  (log: RequestLog | null, tally: Tally): RequestLog =>
  (line) => {
    tally.answered(line.route, line.status)
    log?.(line)
  }

/** Associates a request with the caller's trace, by the generation id in its response. */
const withTraceParent =
  (fetch: Fetch, tracer: Tracer): Fetch =>
  (request, connections) => {
    const traceparent = request.headers.get('traceparent')
    if (traceparent === null) return fetch(request, connections)
    return Promise.resolve(fetch(request, connections)).then((response) => {
      const id = response.headers.get('x-generation-id')
      if (id !== null) tracer.join(id as GenerationId, traceparent)
      return response
    })
  }

function openMetrics(options: MetricsOptions, tally: Tally, deps: ScrapeDeps): Listener {
  const metricsDeps = { ...deps, startedAt: deps.clock.now() }
  const scrape = async (): Promise<string> => {
    const [{ collectMetrics: gather }, { renderFamilies }] = await Promise.all([
      import('#telemetry/collect-metrics.ts'),
      import('#telemetry/exposition.ts'),
    ])
    return renderFamilies(await gather(metricsDeps, tally))
  }
  const loaded = import('#telemetry/metrics-app.ts').then(({ metricsApp }) =>
    metricsApp(options.token, scrape),
  )
  try {
    return listen(options.listen, async (request) => (await loaded)(request))
  } catch (cause) {
    throw options.refused?.(cause) ?? cause
  }
}
