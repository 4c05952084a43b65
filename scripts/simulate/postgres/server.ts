/**
 * Two hosts, of which one is the primary: what is written is durable there, and at the standby, some time after it is seen. A crash
 * leaves what was durable: of the primary where it starts again, of the standby where that is promoted.
 */
import type { World } from '../world.ts'
import type { Row } from './functions.ts'
import type { Moment } from './statements.ts'
import type { Tables } from './tables.ts'

type Write = (tables: Tables) => readonly Row[] | undefined

export class Server {
  readonly world: World
  tables: Tables
  /** Which host is the primary; null while there is none. */
  primary: number | null = 0
  /** Counts crashes: a session of another one is gone. */
  incarnation = 0
  /** Told of the next crash. */
  readonly sessions = new Set<() => void>()
  /** Names whose request was ended while it ran. */
  readonly endedNames = new Set<string>()
  /** What was more at once than a limit allows. */
  readonly overruns = new Set<string>()
  private readonly anew: () => Tables
  private readonly startsAt: number
  private readonly fixed: Moment['fixed']
  private written: Write[] = []
  private flushed = 0
  private received = 0
  private flushesMs = 0
  private receivesMs = 0
  private hasStandby = true
  private ids = 0

  constructor(world: World, startsAt: number, anew: () => Tables, fixed: Moment['fixed']) {
    this.world = world
    this.startsAt = startsAt
    this.anew = anew
    this.tables = anew()
    this.fixed = fixed
  }

  get moment(): Moment {
    const { tables, fixed } = this
    const now = Math.floor(this.startsAt + this.world.nowMs)
    return { tables, fixed, now, nextId: () => ++this.ids }
  }

  /** Seen at once by all; `durable` is called when it outlives a crash. */
  write(writes: readonly Write[], durable: () => void): readonly Row[] | undefined {
    const { world } = this
    let rows: readonly Row[] | undefined
    for (const write of writes) {
      rows = write(this.tables)
      this.written.push(write)
    }
    // What a crash undoes has been seen all the same.
    for (const name of this.tables.endedNames) this.endedNames.add(name)
    for (const what of this.tables.overruns) this.overruns.add(what)
    const upTo = this.written.length
    const { incarnation } = this
    const later = (atMs: number, run: () => void): void => {
      world.after(
        atMs - world.nowMs,
        () => this.incarnation === incarnation && run(),
        world.outside,
      )
    }
    this.flushesMs = Math.max(this.flushesMs, world.nowMs) + world.chance.exponential(1)
    this.receivesMs =
      Math.max(this.receivesMs, world.nowMs) + world.chance.exponential(world.usualMs + 1)
    later(this.flushesMs, () => {
      this.flushed = Math.max(this.flushed, upTo)
    })
    const isAwaited = this.hasStandby
    if (isAwaited) {
      later(this.receivesMs, () => {
        this.received = Math.max(this.received, upTo)
      })
    }
    later(isAwaited ? Math.max(this.flushesMs, this.receivesMs) : this.flushesMs, durable)
    return rows
  }

  /** The primary is gone, with its memory; the standby is promoted, or the primary starts again. */
  crash(): void {
    const { world, primary } = this
    if (primary === null) return
    const isPromoted = this.hasStandby && world.odds(60)
    const kept = isPromoted ? this.received : this.flushed
    world.say(
      `the primary crashes: ${kept} of ${this.written.length} writes are kept, ${isPromoted ? 'by its standby' : 'by itself'}`,
    )
    this.incarnation++
    this.primary = null
    this.written = this.written.slice(0, kept)
    this.flushed = kept
    this.received = isPromoted ? 0 : Math.min(kept, this.received)
    this.tables = this.anew()
    for (const write of this.written) write(this.tables)
    for (const tell of this.sessions) tell()
    this.sessions.clear()
    const rise = (): void => {
      this.primary = isPromoted ? 1 - primary : primary
      this.hasStandby = !isPromoted && this.hasStandby
      world.say(`host ${this.primary} is the primary`)
      if (isPromoted) world.after(world.chance.between(5_000, 20_000), () => this.attach())
    }
    world.after(world.chance.between(300, 6_000), rise, world.outside)
  }

  /** The host that crashed is the standby now, and has all that there is. */
  private attach(): void {
    if (this.primary === null) return
    this.hasStandby = true
    this.received = this.written.length
    this.world.say('the standby is attached')
  }
}
