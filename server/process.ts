/** One of the processes that serve for a parent, which has the store: it keeps nothing, and ends with its parent. */
import type { Clock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { BEAT, type Link } from './crew.ts'
import { type Observer, startObserver } from './observer.ts'
import {
  NOTHING,
  type ParentVerbs,
  type ProcessReport,
  type ProcessSettings,
  type ProcessVerbs,
} from './processes.ts'
import { type Serving, type ServingHere, serveHere } from './serving.ts'

export interface ProcessOptions {
  readonly clock: Clock
  /** Connects to the parent: `db/front`. */
  open(told: {
    answer(method: string, args: readonly unknown[]): unknown
    lost(): void
  }): Promise<{ readonly store: GatewayStore; readonly link: ParentLink }>
}

/** The parent may hand it to another, at `unix`. */
interface ParentLink extends Link {
  move(unix: string): Promise<void>
  /** Resolves once every call has its answer. */
  quiet(): Promise<void>
}

/**
 * Serves until the parent has ended, which `lost` hears at once: what could not be charged must not look like an answer. Where
 * another parent took over, it ends once nothing is in progress here.
 */
export async function runProcess({ clock, open }: ProcessOptions, lost: () => void): Promise<void> {
  const hurried = Promise.withResolvers<void>()
  const connected = Promise.withResolvers<Awaited<ReturnType<ProcessOptions['open']>>>()
  let serving: ServingHere | null = null
  let stopObserving = async (): Promise<void> => {}

  /** Every parent that takes over asks for it. */
  let finishing: Promise<void> | null = null
  const finish = async (): Promise<void> => {
    await serving?.finish()
    await stopObserving()
    await (await connected.promise).link.quiet()
    lost()
  }

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
    [BEAT]: () => {},
    async drain(times) {
      await serving?.drain(times, hurried.promise)
      await serving?.close()
      await stopObserving()
    },
    hurry: () => hurried.resolve(),
    move: async (unix) => (await connected.promise).link.move(unix),
    finish() {
      finishing ??= finish()
      return finishing
    },
  }
  const call = (method: string, args: readonly unknown[]): unknown =>
    Reflect.apply(Reflect.get(verbs, method), verbs, args)
  try {
    const told = { answer: call, lost }
    connected.resolve(await open(told))
  } catch {
    lost()
  }
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
    log: (line) => tell('lines', `${JSON.stringify(line)}\n`),
    telemetry: { metrics: null, traces },
    logFault: (cause) => tell('fault', cause instanceof Error ? cause : String(cause)),
  })
}

const serve = (
  store: GatewayStore,
  clock: Clock,
  { traces: _traces, masterKey, ...settings }: ProcessSettings,
  observer: Observer,
): Promise<ServingHere> =>
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
