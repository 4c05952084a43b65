/** Serves by several processes, which listen on one port and share the store of this one: the parent's side. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { EpochId, GenerationId, KeyId } from '#domain/id.ts'
import type { Owner } from '#domain/owner.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import type { Killed } from '#domain/snapshot/watch.ts'
import type { CredentialReading, HopReading } from '#domain/walk/hop-health.ts'
import type { PaceReading } from '#domain/walk/hop-pace.ts'
import { within } from '#domain/within.ts'
import { STAYING } from '#http/deps.ts'
import { MIN_BUDGET_BYTES } from '#http/read/byte-budget.ts'
import type { RequestLine } from '#http/request-log.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { TraceTarget } from '#telemetry/tracer.ts'
import { BEAT, type Crew, type Host, type Legacy, type Link } from './crew.ts'
import { reserve } from './listener.ts'
import {
  askHere,
  type DrainTimes,
  type Serve,
  type Serving,
  type ServingOptions,
} from './serving.ts'

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
  /** With its answer it lives. */
  [BEAT](): void
  drain(times: DrainTimes): Promise<void>
  hurry(): void
  /** Another process takes over from its parent, and listens there. */
  move(unix: string): Promise<void>
  /** Listens no more, ends what it has, and then itself. */
  finish(): Promise<void>
}

/** What a process tells its parent, by name. */
export interface ParentVerbs {
  /** Of the request log, each with its end of line. */
  lines(json: string): void
  fault(cause: unknown): void
}

export interface ProcessesOptions {
  readonly crew: Crew
  readonly count: number
  readonly traces: TraceTarget | null
  /** Takes what the processes log as they tell it; null where each line is read here. */
  readonly writeLines: ((json: string) => void) | null
  /** Of the gateway that this one takes over from: what it left, and where it listened. */
  readonly before?: Pick<Legacy, 'owners'> & { readonly url: string | null }
  logFault(cause: unknown): void
}

/** How long a report may take; the last one is shown where it takes longer. */
const REPORT_MS = 500
/** How long a process may take to connect and to listen. */
const START_MS = 10_000
/** How long a process may take to end a request. */
const KILL_MS = 5_000
const EXIT_MS = 5_000

/** One process that serves. */
interface Child {
  readonly link: Link
  /** Once it listens, or listens no more. */
  readonly begun: Promise<void>
  report: ProcessReport
}

export const serveByProcesses =
  (given: ProcessesOptions): Serve =>
  async (options) => {
    const processes = new Processes(given, options)
    await processes.start()
    return processes
  }

class Processes implements Serving, Host {
  readonly url: string
  readonly askAsKey: Serving['askAsKey']
  private readonly given: ProcessesOptions
  private readonly options: ServingOptions
  private readonly settings: ProcessSettings
  /** By their epochs. */
  private readonly children = new Map<EpochId, Child>()
  /** Of those that this gateway has started. */
  private readonly listening = new Set<EpochId>()
  private readonly allListen = Promise.withResolvers<void>()
  /** Of the gateway before, which have not come yet. */
  private readonly coming: Set<EpochId>
  private readonly allCame = Promise.withResolvers<void>()
  /** Begins once this gateway drains. */
  private drainChild: ((child: Child) => void) | null = null
  private highest = 0
  private readonly leaving = { ...STAYING }

  constructor(given: ProcessesOptions, options: ServingOptions) {
    this.given = given
    this.options = options
    const { settings, version, timings, masterKey } = options
    this.url = given.before?.url ?? reserve(options.listen)
    this.askAsKey = askHere(options, this.leaving)
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
    const owners = given.before?.owners ?? []
    this.coming = new Set(owners.map(({ epoch }) => epoch))
    given.crew.lend(heard(options), owners, this)
  }

  /** Resolves once all listen. @throws where one cannot */
  async start(): Promise<void> {
    try {
      if (!(await within(this.allListen.promise, START_MS))) throw notStarted()
    } catch (cause) {
      // One that is stuck is not waited for.
      this.given.crew.kill()
      await this.close()
      throw cause
    }
  }

  joined(
    link: Link,
    { epoch }: Owner,
    isMoved: boolean,
  ): (method: string, args: readonly unknown[]) => unknown {
    const told: ParentVerbs = {
      lines: this.given.writeLines ?? ((json) => this.readLines(json)),
      fault: this.given.logFault,
    }
    const child: Child = { link, begun: this.begin(link, epoch, isMoved), report: NOTHING }
    this.children.set(epoch, child)
    // What it has in progress is not cut, also where it comes late. One that was just started has nothing.
    if (!isMoved && this.leaving.isDraining) link.close()
    else this.drainChild?.(child)
    this.came(epoch)
    return (method, args) => Reflect.apply(Reflect.get(told, method), told, args)
  }

  private readLines(json: string): void {
    const { log } = this.options
    if (log === null) return
    for (const line of json.split('\n')) if (line !== '') log(JSON.parse(line) as RequestLine)
  }

  private async begin(link: Link, epoch: EpochId, isMoved: boolean): Promise<void> {
    // New requests go to the processes of this gateway.
    if (isMoved) return link.tell('finish' satisfies keyof ProcessVerbs, [])
    try {
      await this.ask(link, 'serve', this.settings)
      this.listening.add(epoch)
      if (this.listening.size === this.given.count) this.allListen.resolve()
    } catch (cause) {
      this.allListen.reject(cause)
      link.close()
    }
  }

  private came(epoch: EpochId): void {
    this.coming.delete(epoch)
    if (this.coming.size === 0) this.allCame.resolve()
  }

  left({ epoch }: Owner): void {
    this.children.delete(epoch)
    this.listening.delete(epoch)
    this.came(epoch)
  }

  async expire(epoch: EpochId): Promise<void> {
    const { store, clock } = this.options
    await store.admissions.expire([epoch], clock.now())
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

  stuck(): number {
    return this.given.crew.stuck
  }

  draining(): boolean {
    return this.leaving.isDraining
  }

  async kill(id: GenerationId): Promise<Killed> {
    let killed: Killed
    const asking = this.serving.map(async ({ link }) => {
      killed = (await this.ask(link, 'kill', id).catch(() => undefined)) ?? killed
    })
    await within(Promise.all(asking), KILL_MS)
    return killed
  }

  async drain(times: DrainTimes, hurried: Promise<void>): Promise<void> {
    this.leaving.isDraining = true
    this.given.crew.retire()
    const drained: Promise<unknown>[] = []
    this.drainChild = ({ link, begun }) => {
      void hurried.then(() => this.ask(link, 'hurry').catch(() => {}))
      drained.push(begun.then(() => this.ask(link, 'drain', times)).catch(() => {}))
    }
    for (const child of this.serving) this.drainChild(child)
    if (this.coming.size === 0) this.allCame.resolve()
    // One that is stuck is not waited for: it is killed with the rest.
    const all = this.allCame.promise.then(() => Promise.all(drained))
    await Promise.race([
      within(all, times.unreadyMs + times.drainMs + EXIT_MS),
      hurried.then(() => within(all, EXIT_MS)),
    ])
  }

  async close(): Promise<void> {
    this.leaving.isDraining = true
    await this.given.crew.close()
  }
}

const notStarted = (): GatewayError =>
  new GatewayError('internal_error', `its processes do not listen within ${START_MS / 1_000} s`, {
    hint: 'its log tells why where one has ended; a machine that is overloaded may need fewer: --processes 2',
  })

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
