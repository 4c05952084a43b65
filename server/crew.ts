/** The processes that serve for this one: they are started, share its store, and go to the process that takes over from it. */
import { rmSync } from 'node:fs'
import type { OpenAdmission } from '#domain/admission.ts'
import { type Clock, pause } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { EpochId } from '#domain/id.ts'
import type { Owner } from '#domain/owner.ts'
import { within } from '#domain/within.ts'
import type { GatewayStore } from '#signin/store.ts'

/** A connection to another process: calls in both directions, of what a structured clone can hold. */
export interface Link {
  call(method: string, args: readonly unknown[]): Promise<unknown>
  tell(method: string, args: readonly unknown[]): void
  close(): void
}

type Answer = (method: string, args: readonly unknown[]) => unknown

/** Lends a store to processes that connect to a socket: `db/front`. */
export type OpenKeeper = (options: {
  readonly clock: Clock
  readonly unix: string
  joined(link: Link, owner: Owner, pid: number): Answer
  left(owner: Owner, isMoving: boolean): void
  asked(link: Link, method: string, args: readonly unknown[]): unknown
  gone(link: Link): void
}) => {
  lend(store: GatewayStore): void
  welcome(moved: readonly Owner[]): void
  close(): void
}

/** A process that has been started. */
interface Started {
  readonly pid: number
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
}

export interface CrewOptions {
  readonly count: number
  readonly clock: Clock
  /** Where processes find this one; in a directory that only its user can open. */
  readonly unix: string
  /** Where those of one before this have found it, and those of the next will. */
  readonly otherUnix: string
  readonly openKeeper: OpenKeeper
  /** Starts a process that connects to `unix`. */
  spawn(unix: string): Started
  /** How often each is asked whether it lives. */
  readonly beatMs?: number
  logFault(cause: unknown): void
}

/** What one that takes over is left: the processes that come to it, and what they hold. */
export interface Legacy {
  readonly owners: readonly Owner[]
  readonly held: readonly OpenAdmission[]
}

/** One that takes over from this process. */
export interface Heir {
  /** Where it keeps the store from now on. */
  readonly unix: string
  readonly pid: number
  /** Lets it listen for people and scrapes, who wait there from now on. */
  openDoors(): Promise<void>
  /** Resolves once it is known whether that serves. */
  give(legacy: Legacy): Promise<boolean>
}

/** What an heir asks, by name. */
export interface HeirVerbs {
  /** What it must know before it takes over. @throws where that cannot be */
  facts(): unknown
  /** `pid`: of the heir, which is ended where it hangs. */
  handOver(unix: string, pid: number): Promise<Legacy>
  /** It serves. */
  whole(): void
}

/** Who serves with the processes of a crew. */
export interface Host {
  /** `isMoved`: it served for the process before this one. */
  joined(link: Link, owner: Owner, isMoved: boolean): Answer
  left(owner: Owner): void
  /** Gives back what a process held that has died. @throws while the disk refuses it */
  expire(epoch: EpochId): Promise<void>
}

/** How long a process must live, or it is started again after a pause. */
const START_MS = 10_000
const RESTART_MS = 250
/** What a process held is given back; again after this, where the disk refused it. */
const RELEASE_MS = 1_000
/** An event loop that lives answers at once. One that has not after so many beats is said to be stuck, and then ended: after 10 and 30 s. */
const BEAT_MS = 5_000
const STUCK_BEATS = 2
const ENDED_BEATS = 6
/** What a process is asked. */
export const BEAT = 'beat'
/** How long processes may take to leave: for the answers that are out. */
const LEAVE_MS = 5_000
/** What an heir is asked. */
export const OPEN_DOORS = 'openDoors'
const DOORS_MS = 2_000
/** How long an heir may take to serve. */
const HEIR_MS = 20_000
const EXIT_MS = 5_000

/** A process that has joined, and for how many beats it has owed its answer. */
interface Joined {
  readonly link: Link
  readonly pid: number
  beats: number
}

export class Crew {
  private readonly given: CrewOptions
  private readonly keeper: ReturnType<OpenKeeper>
  private readonly kept: Promise<void>[] = []
  private readonly closed = new AbortController()
  private readonly links = new Map<EpochId, Joined>()
  /** Those that it has started, but for those that have left for an heir. */
  private readonly own = new Map<number, Started>()
  /** Those that have left for an heir. */
  private readonly moved = new Map<EpochId, Owner>()
  private empty: PromiseWithResolvers<void> | null = null
  private readonly heirs = Promise.withResolvers<Heir>()
  /** Who has asked for the facts: it uses the place of the next keeper, which no other may meanwhile. */
  private asking: Link | null = null
  /** Whether that serves; null before it has asked for everything. */
  private serves: PromiseWithResolvers<boolean> | null = null
  private host: Host | null = null
  /** Those that come from the process before. */
  private readonly expected = new Map<EpochId, Owner>()
  private isOver = false
  /** What heirs are told. */
  facts: () => unknown = () => {
    throw notNow('the gateway that serves is still starting')
  }

  constructor(given: CrewOptions) {
    this.given = given
    this.keeper = given.openKeeper({
      clock: given.clock,
      unix: given.unix,
      joined: (link, owner, pid) => this.joined(link, owner, pid),
      left: (owner, isMoving) => this.left(owner, isMoving),
      asked: (link, method, args) => this.asked(link, method, args),
      gone: (link) => {
        if (this.asking !== link) return
        // What it was given no other can have from this crew.
        if (this.serves === null) this.asking = null
        else this.serves.resolve(false)
      },
    })
    for (let n = 0; n < given.count; n++) this.kept.push(this.keep())
    void this.beat()
  }

  /** Another process takes over. */
  get succession(): Promise<Heir> {
    return this.heirs.promise
  }

  /** From now on its processes have what they waited for. */
  lend(store: GatewayStore, owners: readonly Owner[], host: Host): void {
    this.host = host
    for (const owner of owners) this.expected.set(owner.epoch, owner)
    this.keeper.lend(store)
  }

  /** It serves: those of the process before, which have waited, come. */
  welcome(): void {
    this.keeper.welcome([...this.expected.values()])
  }

  /** How many do not answer. */
  get stuck(): number {
    return [...this.links.values()].filter(({ beats }) => beats > STUCK_BEATS).length
  }

  get unix(): string {
    return this.given.unix
  }

  /** Starts no more. */
  retire(): void {
    this.isOver = true
  }

  refuseHeirs(): void {
    this.isOver = true
    this.facts = () => {
      throw notNow('the gateway that serves is being stopped')
    }
  }

  /** Sends all processes to an heir, and resolves with those that have left; the others end. */
  async leave(unix: string): Promise<readonly Owner[]> {
    this.isOver = true
    this.empty = Promise.withResolvers()
    for (const { link } of this.links.values()) link.tell('move', [unix])
    if (this.links.size > 0) await within(this.empty.promise, LEAVE_MS)
    // One that is stuck would go on listening, and answer nobody.
    this.kill()
    this.keeper.close()
    this.closed.abort()
    return [...this.moved.values()]
  }

  /** Ends them all. */
  async close(): Promise<void> {
    this.isOver = true
    // Without its parent's socket a process ends by itself.
    this.keeper.close()
    const ended = Promise.all(this.kept)
    if (!(await within(ended, EXIT_MS))) this.kill()
    await ended
    this.closed.abort()
    // A process that was killed has left it there. An heir that is let down goes on by itself, and uses it.
    if (this.asking === null) rmSync(this.given.otherUnix, { force: true })
  }

  /** Those that have not left for an heir. */
  kill(): void {
    for (const child of this.own.values()) child.kill('SIGKILL')
  }

  /** Runs one process, and another once that has ended, until this gateway stops. */
  private async keep(): Promise<void> {
    const { signal } = this.closed
    while (!signal.aborted && !this.isOver) {
      const startedMs = performance.now()
      const fault = await this.run()
      if (signal.aborted || this.isOver) return
      this.given.logFault(fault)
      const livedMs = performance.now() - startedMs
      if (livedMs < START_MS) await pause(RESTART_MS, signal).catch(() => undefined)
    }
  }

  /** Runs one process to its end, and tells why that came. */
  private async run(): Promise<Error> {
    try {
      const child = this.given.spawn(this.given.unix)
      this.own.set(child.pid, child)
      const code = await child.exited
      this.own.delete(child.pid)
      return new Error(`a process that served ended with ${code}; another is started`)
    } catch (cause) {
      return new Error('no process can be started; it is tried again', { cause })
    }
  }

  /** Beats are counted, not seconds: when a machine has slept, nobody is late. */
  private async beat(): Promise<void> {
    const { beatMs = BEAT_MS, logFault } = this.given
    const { signal } = this.closed
    const tell = (pid: number, beats: number, then: string): void =>
      logFault(
        new Error(`process ${pid} has not answered for ${(beats * beatMs) / 1_000} s${then}`),
      )
    while (!signal.aborted) {
      await pause(beatMs, signal).catch(() => undefined)
      for (const joined of this.links.values()) {
        const { link, pid, beats } = joined
        const answered = (): void => {
          joined.beats = 0
        }
        if (beats === 0) void link.call(BEAT, []).then(answered, () => undefined)
        if (beats === STUCK_BEATS) tell(pid, beats, '')
        if (beats === ENDED_BEATS) {
          tell(pid, beats, ': it is ended')
          this.end(pid)
        }
        joined.beats++
      }
    }
  }

  /** It may have been started by the gateway before. */
  private end(pid: number): void {
    try {
      const own = this.own.get(pid)
      if (own === undefined) process.kill(pid, 'SIGKILL')
      else own.kill('SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }

  private joined(link: Link, owner: Owner, pid: number): Answer {
    const { host } = this
    if (host === null) throw new Error('nothing is lent')
    // It was started when the others were told to leave, and has nothing to bring.
    if (this.empty !== null) throw notNow('the store changes hands')
    this.links.set(owner.epoch, { link, pid, beats: 0 })
    return host.joined(link, owner, this.expected.delete(owner.epoch))
  }

  private left(owner: Owner, isMoving: boolean): void {
    const { epoch } = owner
    const pid = this.links.get(epoch)?.pid
    this.links.delete(epoch)
    this.expected.delete(epoch)
    this.host?.left(owner)
    if (isMoving) {
      this.moved.set(epoch, owner)
      if (pid !== undefined) this.own.delete(pid)
    } else void this.release(epoch)
    if (this.links.size === 0) this.empty?.resolve()
  }

  /** As soon as the disk takes it. */
  private async release(epoch: EpochId): Promise<void> {
    const { signal } = this.closed
    while (!signal.aborted) {
      try {
        return await this.host?.expire(epoch)
      } catch (cause) {
        this.given.logFault(cause)
        await pause(RELEASE_MS, signal).catch(() => undefined)
      }
    }
  }

  private asked(link: Link, method: string, args: readonly unknown[]): unknown {
    const verbs: HeirVerbs = {
      facts: () => this.tell(link),
      handOver: (unix, pid) => this.handOver(link, unix, pid),
      whole: () => {
        if (this.asking === link) this.serves?.resolve(true)
      },
    }
    return Reflect.apply(Reflect.get(verbs, method), verbs, args)
  }

  private tell(link: Link): unknown {
    if (this.asking !== null) throw notNow('another process takes over right now')
    this.asking = link
    return this.facts()
  }

  private handOver(link: Link, unix: string, pid: number): Promise<Legacy> {
    if (this.isOver) throw notNow('the gateway that serves is being stopped')
    const serves = Promise.withResolvers<boolean>()
    const { promise, resolve } = Promise.withResolvers<Legacy>()
    this.serves = serves
    this.heirs.resolve({
      unix,
      pid,
      async openDoors() {
        await within(link.call(OPEN_DOORS, []), DOORS_MS).catch(() => {})
      },
      async give(legacy) {
        resolve(legacy)
        await within(serves.promise, HEIR_MS)
        serves.resolve(false)
        link.close()
        return await serves.promise
      },
    })
    return promise
  }
}

const notNow = (message: string): GatewayError =>
  new GatewayError('store_unavailable', message, { hint: 'try again' })
