/** One of the processes that serve for a parent, which has the store: it keeps nothing, and ends with its parent. */
import type { Clock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { type Observer, startObserver } from './observer.ts'
import {
  type Link,
  NOTHING,
  type ParentVerbs,
  type ProcessReport,
  type ProcessSettings,
  type ProcessVerbs,
} from './processes.ts'
import { type Serving, serveHere } from './serving.ts'

export interface ProcessOptions {
  readonly clock: Clock
  /** Connects to the parent: `db/front`. */
  open(told: {
    answer(method: string, args: readonly unknown[]): unknown
    lost(): void
  }): Promise<{ readonly store: GatewayStore; readonly link: Link }>
}

/** Serves until the parent has ended, which `lost` hears at once: what could not be charged must not look like an answer. */
export async function runProcess({ clock, open }: ProcessOptions, lost: () => void): Promise<void> {
  const hurried = Promise.withResolvers<void>()
  const connected = Promise.withResolvers<Awaited<ReturnType<ProcessOptions['open']>>>()
  let serving: Serving | null = null
  let stopObserving = async (): Promise<void> => {}

  const verbs: ProcessVerbs = {
    async serve(settings) {
      const { store, link } = await connected.promise
      const { traces, version } = settings
      const observer = await startProcessObserver(link, clock, traces, version)
      stopObserving = () => observer.stop()
      serving = await serve(store, clock, settings, observer)
    },
    report: () => (serving === null ? NOTHING : reportOf(serving)),
    kill: async (id) => await serving?.kill(id),
    async drain(drainMs) {
      await serving?.drain(drainMs, hurried.promise)
      await serving?.close()
      await stopObserving()
    },
    hurry: () => hurried.resolve(),
  }
  connected.resolve(
    await open({
      answer: (method, args) => Reflect.apply(Reflect.get(verbs, method), verbs, args),
      lost,
    }),
  )
}

const reportOf = (serving: Serving): ProcessReport => ({
  inFlight: serving.inFlight(Number.POSITIVE_INFINITY),
  countByKey: serving.countByKey(),
  peak: serving.peak(),
  hops: serving.hops(),
  certificateEnds: serving.certificateEnds(),
  credentials: serving.credentials(),
  paces: serving.paces(),
})

/** What it sees is told to the parent, but for traces. */
function startProcessObserver(
  link: Link,
  clock: Clock,
  traces: ProcessSettings['traces'],
  version: string,
): Promise<Observer> {
  const tell = <Verb extends keyof ParentVerbs>(
    verb: Verb,
    ...args: Parameters<ParentVerbs[Verb]>
  ): void => link.tell(verb, args)
  return startObserver({
    clock,
    version,
    log: (line) => tell('line', JSON.stringify(line)),
    telemetry: { metrics: null, traces },
    logFault: (cause) => tell('fault', cause instanceof Error ? cause : String(cause)),
  })
}

const serve = (
  store: GatewayStore,
  clock: Clock,
  { traces: _traces, masterKey, ...settings }: ProcessSettings,
  observer: Observer,
): Promise<Serving> =>
  serveHere({
    ...settings,
    store,
    clock,
    masterKey: masterKey ?? null,
    log: observer.log,
    // The parent hears of it by the store.
    ended: observer.ending(() => {}),
    before: observer.before,
  })
