/** Serves by several processes, which listen on one port and share the store of this one: the parent's side. */
import { rmSync } from 'node:fs'
import type { ActivityEntry } from '#domain/activity.ts'
import { type Instant, pause } from '#domain/clock.ts'
import type { EpochId, GenerationId, KeyId } from '#domain/id.ts'
import type { Owner } from '#domain/owner.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import type { Killed } from '#domain/snapshot/watch.ts'
import type { CredentialReading, HopReading } from '#domain/walk/hop-health.ts'
import type { PaceReading } from '#domain/walk/hop-pace.ts'
import { within } from '#domain/within.ts'
import { MIN_BUDGET_BYTES } from '#http/read/byte-budget.ts'
import type { RequestLine } from '#http/request-log.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { TraceTarget } from '#telemetry/tracer.ts'
import { listen } from './listener.ts'
import { askHere, type Serve, type Serving, type ServingOptions } from './serving.ts'

/** A connection to another process: calls in both directions, of what a structured clone can hold. */
export interface Link {
  call(method: string, args: readonly unknown[]): Promise<unknown>
  tell(method: string, args: readonly unknown[]): void
  close(): void
}

/** Lends a store to processes that connect to a socket: `db/front`. */
export type OpenKeeper = (options: {
  readonly store: GatewayStore
  readonly clock: ServingOptions['clock']
  readonly unix: string
  joined(link: Link, owner: Owner): (method: string, args: readonly unknown[]) => unknown
  left(owner: Owner): void
}) => { close(): void }

/** What a process is told to serve: all of it data. */
export interface ProcessSettings
  extends Pick<ServingOptions, 'listen' | 'settings' | 'timings' | 'version' | 'masterKey'> {
  readonly traces: TraceTarget | null
}

/** What a process tells of the requests in it. */
export interface ProcessReport {
  readonly inFlight: readonly InFlight[]
  readonly countByKey: ReadonlyMap<KeyId, number>
  readonly peak: number
  readonly hops: readonly HopReading[]
  readonly certificateEnds: ReadonlyMap<string, Instant>
  readonly credentials: readonly CredentialReading[]
  readonly paces: readonly PaceReading[]
}

/** Of one that has not begun to serve. */
export const NOTHING: ProcessReport = {
  inFlight: [],
  countByKey: new Map(),
  peak: 0,
  hops: [],
  certificateEnds: new Map(),
  credentials: [],
  paces: [],
}

/** What the parent asks a process, by name. */
export interface ProcessVerbs {
  serve(settings: ProcessSettings): Promise<void>
  report(): ProcessReport
  kill(id: GenerationId): Promise<Killed>
  drain(drainMs: number): Promise<void>
  hurry(): void
}

/** What a process tells its parent, by name. */
export interface ParentVerbs {
  /** A line of the request log, as JSON: a clone of its fields costs more. */
  line(text: string): void
  fault(cause: unknown): void
}

export interface ProcessesOptions {
  readonly count: number
  /** Where processes find this one; in a directory that only its user can open. */
  readonly unix: string
  readonly traces: TraceTarget | null
  readonly openKeeper: OpenKeeper
  /** Starts a process that connects to `unix`. */
  spawn(unix: string): { kill(signal: NodeJS.Signals): void; readonly exited: Promise<number> }
  logFault(cause: unknown): void
}

/** How long a report may take; the last one is shown where it takes longer. */
const REPORT_MS = 500
/** How long a process may take to connect and to listen. */
const START_MS = 10_000
/** How long a process may take to end a request. */
const KILL_MS = 5_000
/** What a process held is given back; again after this, where the disk refused it. */
const RELEASE_MS = 1_000
/** A process that died at once is started again after this. */
const RESTART_MS = 250
const EXIT_MS = 5_000

/** One process that serves. */
interface Child {
  readonly link: Link
  report: ProcessReport
}

export const serveByProcesses =
  (given: ProcessesOptions): Serve =>
  async (options) => {
    const processes = new Processes(given, options)
    await processes.start()
    return processes
  }

class Processes implements Serving {
  readonly url: string
  readonly askAsKey: Serving['askAsKey']
  private readonly given: ProcessesOptions
  private readonly options: ServingOptions
  private readonly settings: ProcessSettings
  /** Those that serve, by their epochs. */
  private readonly children = new Map<EpochId, Child>()
  private readonly keeper: { close(): void }
  private readonly kept: Promise<void>[] = []
  private readonly listening = Promise.withResolvers<void>()
  private highest = 0
  private isDraining = false
  private readonly closed = new AbortController()

  constructor(given: ProcessesOptions, options: ServingOptions) {
    this.given = given
    this.options = options
    const { clock, settings, version, timings, masterKey } = options
    this.url = reserve(options.listen)
    this.askAsKey = askHere(options, () => this.isDraining)
    this.settings = {
      listen: {
        hostname: options.listen.hostname,
        port: portOf(this.url),
        isShared: true,
      },
      version,
      traces: given.traces,
      ...(settings && { settings: shareOf(settings, given.count) }),
      ...(timings && { timings }),
      // Of one that is random, each would have its own.
      masterKey: masterKey ?? crypto.getRandomValues(new Uint8Array(32)),
    }
    this.keeper = given.openKeeper({
      store: heard(options),
      clock,
      unix: given.unix,
      joined: (link, owner) => this.joined(link, owner),
      left: ({ epoch }) => {
        this.children.delete(epoch)
        void this.release(epoch)
      },
    })
  }

  /** Resolves once all listen. @throws where one cannot */
  async start(): Promise<void> {
    for (let n = 0; n < this.given.count; n++) {
      this.kept.push(this.keep())
    }
    try {
      if (await within(this.listening.promise, START_MS)) return
      throw new Error(`its processes do not listen within ${START_MS / 1_000} s`)
    } catch (cause) {
      await this.close()
      throw cause
    }
  }

  /** Runs one process, and another once that has ended, until this gateway stops. */
  private async keep(): Promise<void> {
    const { signal } = this.closed
    while (!signal.aborted) {
      const startedMs = performance.now()
      const fault = await this.run(signal)
      if (signal.aborted || this.isDraining) return
      this.given.logFault(fault)
      const livedMs = performance.now() - startedMs
      if (livedMs < START_MS) await pause(RESTART_MS, signal).catch(() => undefined)
    }
  }

  /** Runs one process to its end, and tells why that came. */
  private async run(signal: AbortSignal): Promise<Error> {
    try {
      const child = this.given.spawn(this.given.unix)
      const kill = (): void => child.kill('SIGKILL')
      signal.addEventListener('abort', kill)
      const code = await child.exited
      signal.removeEventListener('abort', kill)
      return new Error(`a process that served ended with ${code}; another is started`)
    } catch (cause) {
      return new Error('no process can be started; it is tried again', { cause })
    }
  }

  /** Gives back what a process held that has died, as soon as the disk takes it. */
  private async release(epoch: EpochId): Promise<void> {
    const { store, clock } = this.options
    const { signal } = this.closed
    while (!signal.aborted) {
      try {
        return await store.admissions.expire([epoch], clock.now())
      } catch (cause) {
        this.given.logFault(cause)
        await pause(RELEASE_MS, signal).catch(() => undefined)
      }
    }
  }

  private joined(
    link: Link,
    { epoch }: Owner,
  ): (method: string, args: readonly unknown[]) => unknown {
    // One that comes too late would serve what nobody waits for.
    if (this.isDraining) link.close()
    const child: Child = { link, report: NOTHING }
    const told: ParentVerbs = {
      line: (text) => this.options.log?.(JSON.parse(text) as RequestLine),
      fault: this.given.logFault,
    }
    void this.ask(link, 'serve', this.settings).then(
      () => {
        this.children.set(epoch, child)
        if (this.isDraining) link.close()
        if (this.children.size === this.given.count) this.listening.resolve()
      },
      (cause) => {
        this.listening.reject(cause)
        link.close()
      },
    )
    return (method, args) => Reflect.apply(Reflect.get(told, method), told, args)
  }

  private ask<Verb extends keyof ProcessVerbs>(
    link: Link,
    verb: Verb,
    ...args: Parameters<ProcessVerbs[Verb]>
  ): Promise<Awaited<ReturnType<ProcessVerbs[Verb]>>> {
    return link.call(verb, args) as Promise<Awaited<ReturnType<ProcessVerbs[Verb]>>>
  }

  async look(): Promise<void> {
    await Promise.all(
      this.serving.map(async (child) => {
        const reporting = this.ask(child.link, 'report').then(
          (report) => {
            child.report = report
          },
          () => {
            child.report = NOTHING
          },
        )
        await within(reporting, REPORT_MS)
      }),
    )
    this.highest = Math.max(this.highest, this.count())
  }

  private get serving(): readonly Child[] {
    return [...this.children.values()]
  }

  private get reports(): readonly ProcessReport[] {
    return this.serving.map(({ report }) => report)
  }

  inFlight(most: number): readonly InFlight[] {
    return this.reports
      .flatMap(({ inFlight }) => inFlight)
      .toSorted((one, other) => one.arrivedAt - other.arrivedAt)
      .slice(0, most)
  }

  count(): number {
    return this.reports.reduce((sum, { inFlight }) => sum + inFlight.length, 0)
  }

  countByKey(): ReadonlyMap<KeyId, number> {
    const counts = new Map<KeyId, number>()
    for (const { countByKey } of this.reports) {
      for (const [key, count] of countByKey) counts.set(key, (counts.get(key) ?? 0) + count)
    }
    return counts
  }

  /** Of all together, as often as somebody looked; of one at least its own. */
  peak(): number {
    return Math.max(this.highest, ...this.reports.map(({ peak }) => peak))
  }

  certificateEnds(): ReadonlyMap<string, Instant> {
    return new Map(this.reports.flatMap(({ certificateEnds }) => [...certificateEnds]))
  }

  hops(): readonly HopReading[] {
    return this.reports.flatMap(({ hops }) => hops)
  }

  credentials(): readonly CredentialReading[] {
    return this.reports.flatMap(({ credentials }) => credentials)
  }

  paces(): readonly PaceReading[] {
    return this.reports.flatMap(({ paces }) => paces)
  }

  draining(): boolean {
    return this.isDraining
  }

  async kill(id: GenerationId): Promise<Killed> {
    let killed: Killed
    const asking = this.serving.map(async ({ link }) => {
      killed = (await this.ask(link, 'kill', id).catch(() => undefined)) ?? killed
    })
    await within(Promise.all(asking), KILL_MS)
    return killed
  }

  async drain(drainMs: number, hurried: Promise<void>): Promise<void> {
    this.isDraining = true
    const links = this.serving.map(({ link }) => link)
    void hurried.then(() => links.map((link) => this.ask(link, 'hurry').catch(() => {})))
    const drained = links.map((link) => this.ask(link, 'drain', drainMs).catch(() => {}))
    // One that is stuck is not waited for: it is killed with the rest.
    await within(Promise.all(drained), drainMs + EXIT_MS)
  }

  async close(): Promise<void> {
    this.isDraining = true
    // Without its parent's socket a process ends by itself.
    this.keeper.close()
    const ended = Promise.all(this.kept)
    if (!(await within(ended, EXIT_MS))) this.closed.abort()
    await ended
    this.closed.abort()
    rmSync(this.given.unix, { force: true })
  }
}

/** The address, once nobody else listens there: processes that share a port would share it with a stranger as well. */
function reserve(place: ServingOptions['listen']): string {
  const trial = listen(place, () => new Response(null, { status: 503 }))
  void trial.close()
  return trial.url
}

const portOf = (url: string): number => Number(new URL(url).port || 80)

/** The memory of one of so many processes. */
const shareOf = (
  settings: NonNullable<ServingOptions['settings']>,
  count: number,
): NonNullable<ServingOptions['settings']> => ({
  ...settings,
  memoryBudgetBytes: Math.max(MIN_BUDGET_BYTES, Math.floor(settings.memoryBudgetBytes / count)),
})

/** The store, telling of every ending as it is noted, whichever process notes it. */
function heard({ store, clock, ended }: ServingOptions): GatewayStore {
  const { admissions, activity } = store
  return {
    ...store,
    admissions: {
      ...admissions,
      settle(id, settlement) {
        ended(settlement.activity, settlement.at)
        return admissions.settle(id, settlement)
      },
    },
    activity: {
      ...activity,
      note(entry: ActivityEntry) {
        ended(entry, clock.now())
        activity.note(entry)
      },
    },
  }
}
