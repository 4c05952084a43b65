/** What serves the HTTP API: this process, or several that share its store (`processes.ts`). */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import type { GenerationId, KeyId } from '#domain/id.ts'
import { DEFAULT_SETTINGS, type Settings } from '#domain/settings.ts'
import { type InFlight, readInFlight } from '#domain/snapshot/in-flight.ts'
import { endedByOperator, type Killed } from '#domain/snapshot/watch.ts'
import { askedReadings } from '#domain/walk/asked-hops.ts'
import type { CredentialReading, HopReading } from '#domain/walk/hop-health.ts'
import type { PaceReading } from '#domain/walk/hop-pace.ts'
import type { CompletionDeps, Walk } from '#domain/walk/walk.ts'
import { within } from '#domain/within.ts'
import { createApi } from '#http/app.ts'
import { type ApiDeps, type Leaving, STAYING, toApiDeps } from '#http/deps.ts'
import { shuttingDown } from '#http/render-error.ts'
import type { Connections } from '#http/request-context.ts'
import type { RequestLog } from '#http/request-log.ts'
import type { RunningWalks } from '#http/running-walks.ts'
import { openSeals } from '#http/seals.ts'
import { DEFAULT_TIMINGS, type Timings } from '#http/timings.ts'
import type { GatewayStore } from '#signin/store.ts'
import { certificateEnds } from '#upstream/certificates.ts'
import { createUpstreamCache } from '#upstream/registry.ts'
import { type AskAsKey, askAsKey } from './ask-as-key.ts'
import { type Listener, listen, type Place } from './listener.ts'

export interface ServingOptions {
  readonly store: GatewayStore
  readonly clock: Clock
  readonly settings?: Settings
  readonly timings?: Timings
  readonly listen: Place
  readonly version: string
  /** What clients keep for the gateway is sealed under it; without one it can be read until the process ends. */
  readonly masterKey?: Uint8Array | null
  readonly log: RequestLog | null
  /** Opens a provider's upstream; by default by the wire family of its type. */
  readonly upstreamFor?: CompletionDeps['upstreamFor']
  /** Hears of every ending once, refusals too, before it is committed. */
  ended(entry: ActivityEntry, at: Instant): void
  /** Wraps the API. */
  before(fetch: Fetch): Fetch
}

export type Fetch = (request: Request, connections: Connections) => Response | Promise<Response>

export interface DrainTimes {
  /** For so long a balancer may take to notice that it is to send no more: what it sends meanwhile is served. */
  readonly unreadyMs: number
  readonly drainMs: number
}

export interface Serving {
  /** The listening address: `http://host:port`. */
  readonly url: string
  /** Before anything below is read: asks other processes what they serve. One that does not answer delays nobody for long. */
  look(): Promise<void>
  /** Requests in progress, oldest first, at most `most`. */
  inFlight(most: number): readonly InFlight[]
  count(): number
  /** How many they are of each key that has any. */
  countByKey(): ReadonlyMap<KeyId, number>
  /** The highest number in progress at once since the start. */
  peak(): number
  /** Hops with recent failures, while any model is asked for there. */
  hops(): readonly HopReading[]
  /** When the certificates of providers end, as connections to them have shown. */
  certificateEnds(): ReadonlyMap<string, Instant>
  /** Credentials with recent failures, of providers that have several. */
  credentials(): readonly CredentialReading[]
  /** How soon the hops that were asked begin to answer. */
  paces(): readonly PaceReading[]
  /** How many of several processes do not answer. */
  stuck(): number
  /** Sends a request as a key, without its secret, from within. */
  readonly askAsKey: AskAsKey
  /** True once it accepts no new chat requests. */
  draining(): boolean
  kill(id: GenerationId): Promise<Killed>
  /** Is unready for a time; then refuses new requests, and ends those in progress after `drainMs`, or once `hurried` resolves. */
  drain(times: DrainTimes, hurried: Promise<void>): Promise<void>
  /** Stops listening. */
  close(): Promise<void>
}

export interface ServingHere extends Serving {
  /** Listens no more: connections that are open end after their next answer. Resolves once nothing is in progress. */
  finish(): Promise<void>
}

export type Serve = (options: ServingOptions) => Promise<Serving>

/** Serves in this process. @throws where it cannot listen */
export const serveHere = async (options: ServingOptions): Promise<ServingHere> => {
  const leaving = { ...STAYING }
  const deps = toDeps(options, leaving)
  const { running, health } = deps
  const asked = askedReadings(health, deps.store.catalogue)
  const listener: Listener = listen(options.listen, options.before(createApi(deps).fetch))
  return {
    url: listener.url,
    look: async () => {},
    inFlight(most) {
      const seen: InFlight[] = []
      for (const walk of running.list()) {
        if (seen.length === most) break
        const one = readInFlight(walk)
        if (one !== null) seen.push(one)
      }
      return seen
    },
    count: () => running.count,
    countByKey() {
      const counts = new Map<KeyId, number>()
      for (const { caller } of running.list()) {
        counts.set(caller.key.id, (counts.get(caller.key.id) ?? 0) + 1)
      }
      return counts
    },
    peak: () => running.peak,
    hops: asked.readings,
    certificateEnds,
    credentials: asked.credentials,
    paces: health.pace.readings,
    stuck: () => 0,
    askAsKey: askAsKey(deps),
    draining: () => leaving.isDraining,
    async kill(id) {
      const walk = running
        .list()
        .find(({ generationId, claim }) => claim !== null && generationId === id)
      return walk && { ended: await end(walk) }
    },
    async drain({ unreadyMs, drainMs }, hurried) {
      leaving.isUnready = true
      if (unreadyMs > 0) await within(hurried, unreadyMs)
      leaving.isDraining = true
      await drain(running, drainMs, hurried)
    },
    close: () => listener.close(),
    async finish() {
      await listener.retire()
      await running.settled()
    },
  }
}

/** For a process that serves none itself: what is asked so is not among the requests in progress of those that do. */
export const askHere = (options: ServingOptions, leaving: Readonly<Leaving>): AskAsKey =>
  askAsKey(toDeps(options, leaving))

const toDeps = (
  { store, clock, settings, timings, masterKey, upstreamFor, log, version, ended }: ServingOptions,
  leaving: Readonly<Leaving>,
): ApiDeps =>
  toApiDeps({
    store,
    clock,
    settings: settings ?? DEFAULT_SETTINGS,
    timings: timings ?? DEFAULT_TIMINGS,
    seals: openSeals(masterKey ?? null),
    upstreamFor: upstreamFor ?? createUpstreamCache(store.providers, clock),
    log,
    version,
    ended,
    leaving,
  })

/** How long an operator waits for one request whose upstream ignores its abort; a drain waits longer. */
const LAST_WAIT_MS = 3_000

async function end(walk: Walk): Promise<boolean> {
  walk.abort(endedByOperator())
  if (await within(walk.settled(), END_GRACE_MS)) return true
  void walk.leave()
  return await within(walk.settled(), LAST_WAIT_MS)
}

/** How long a client may take to read the error that ends its stream. */
const END_GRACE_MS = 1_000
/** How long a drain waits for an upstream that ignores its abort; its hold is voided at the next start. */
const DRAINED_WAIT_MS = 5_000

/** Waits for the walks in progress, then ends them, so that every admission is settled before the gateway closes. `hurried` ends the waiting for answers before `drainMs` has. */
async function drain(
  running: RunningWalks,
  drainMs: number,
  hurried: Promise<void>,
): Promise<void> {
  await within(Promise.race([running.settled(), hurried]), drainMs)
  if (running.count === 0) return
  for (const walk of running.list()) walk.abort(shuttingDown())
  if (await within(running.settled(), END_GRACE_MS)) return
  for (const walk of running.list()) void walk.leave()
  await within(running.settled(), DRAINED_WAIT_MS)
}
