/** `Bun.SQL` of a world: sessions at the model, whose messages are late, and which break. */
import type { Life, World } from '../world.ts'
import type { Row } from './functions.ts'
import type { Server } from './server.ts'
import { type Deed, understand } from './statements.ts'

/** The network between a node and both hosts. */
export interface Way {
  /** Until then nothing passes to the hosts, or from them. */
  thereUntilMs: number
  backUntilMs: number
  /** Counts cuts: connections from before are gone. */
  cuts: number
  /** Nothing is later than usual, and nobody waits for locks. */
  readonly isCalm?: boolean
}

interface Options {
  readonly hostname: string
  readonly port: number
  readonly max: number
  readonly connection: Readonly<Record<string, unknown>>
}

/** What the runtime's own client throws. */
class PostgresError extends Error {
  readonly code: string
  readonly errno: string | undefined
  constructor(message: string, code: string, errno?: string) {
    super(message)
    this.code = code
    this.errno = errno
  }
}

const closed = () => new PostgresError('Connection closed', 'ERR_POSTGRES_CONNECTION_CLOSED')
const refused = () => new PostgresError('Failed to connect', 'ECONNREFUSED')
const silent = () => new PostgresError('Connection timeout', 'ERR_POSTGRES_CONNECTION_TIMEOUT')

type Rows = Row[] & { count: number }

interface Valued {
  values(): Promise<unknown[][]>
}

const toRows = (rows: readonly Row[] = []): Rows => Object.assign([...rows], { count: rows.length })

/** Statements that wait for locks. */
const LOCKS = /\b(admit|settle|give_up|end_epochs|end_silent)\(/
/** How long a connection may take. */
const CONNECT_MS = 2_000

/** The class for a world; `wayOf` is the network of whose process asks. */
export function clientsOf(world: World, server: Server, wayOf: (life: Life) => Way) {
  return class Sql {
    private readonly options: Options
    private readonly life = world.life
    private readonly sessions: Session[] = []
    private isClosed = false

    constructor(options: Options) {
      this.options = options
    }

    /** The rows, or lists of their values. */
    unsafe(text: string, values: readonly unknown[] = []): Promise<Rows> & Valued {
      const asked = this.ask(text, values)
      return Object.assign(asked, {
        values: async () => (await asked).map((row) => Object.values(row)),
      })
    }

    private async ask(text: string, values: readonly unknown[]): Promise<Rows> {
      return await this.session().ask(text, values)
    }

    async begin<T>(mode: string, act: (client: unknown) => Promise<T>): Promise<T> {
      const session = this.session()
      session.isTaken = true
      try {
        await session.ask(`BEGIN ${mode}`, [])
        const deeds: Deed[] = []
        session.deeds = deeds
        try {
          const done = await act({
            unsafe: async (text: string, values: readonly unknown[] = []) =>
              await session.ask(text, values),
          })
          session.deeds = null
          await session.commit(deeds)
          return done
        } catch (thrown) {
          session.deeds = null
          throw thrown
        }
      } finally {
        session.isTaken = false
      }
    }

    async close({ timeout = 0 }: { readonly timeout?: number } = {}): Promise<void> {
      this.isClosed = true
      if (timeout > 0) {
        const pending = this.sessions.map(({ last }) => last.catch(() => {}))
        const late = new Promise((resolve) => setTimeout(resolve, timeout * 1_000))
        await Promise.race([Promise.all(pending), late])
      }
      for (const session of this.sessions) session.break(closed)
    }

    /** One that is free, or another one; what finds none waits its turn at the first. */
    private session(): Session {
      if (this.isClosed) throw closed()
      const { options, sessions, life } = this
      const free = sessions.find((one) => !one.isTaken && !one.isBusy && !one.isBroken)
      if (free !== undefined) return free
      const alive = sessions.filter((one) => !one.isBroken)
      const shared = alive.filter((one) => !one.isTaken)
      if (alive.length >= options.max && shared[0] !== undefined) return shared[0]
      const session = new Session(world, server, wayOf(life), life, options)
      sessions.push(session)
      return session
    }
  }
}

/** One connection. */
class Session {
  isTaken = false
  isBroken = false
  isBusy = false
  /** What was asked last. */
  last: Promise<unknown> = Promise.resolve()
  /** What a transaction does, until it commits. */
  deeds: Deed[] | null = null
  private readonly world: World
  private readonly server: Server
  private readonly way: Way
  private readonly life: Life
  private readonly host: number
  private readonly isDurable: boolean
  private readonly cuts: number
  private incarnation: number | null = null
  private arrivesMs = 0
  private breaking: (() => void)[] = []

  constructor(world: World, server: Server, way: Way, life: Life, options: Options) {
    this.world = world
    this.server = server
    this.way = way
    this.life = life
    this.host = options.port
    this.isDurable = options.connection['synchronous_commit'] !== 'off'
    this.cuts = way.cuts
    server.sessions.add(() => {
      if (!this.isBroken && !life.isDead) this.travel(() => this.break(closed), life)
    })
  }

  /** Everything that is out on it fails. */
  break(why: () => Error): void {
    if (this.isBroken) return
    this.isBroken = true
    this.why = why
    for (const fail of this.breaking.splice(0)) fail()
  }
  private why: () => Error = closed

  ask(text: string, values: readonly unknown[]): Promise<Rows> {
    const { server, deeds } = this
    return this.send((answer, fail) => {
      if (text.startsWith('BEGIN')) return answer(toRows())
      const busy = this.busy(text)
      if (busy !== null) return fail(busy)
      const deed = understand(server.moment, { text, values })
      if (deeds !== null) {
        deeds.push(deed)
        return answer(toRows(deed.rows))
      }
      this.perform([deed], answer)
    })
  }

  commit(deeds: readonly Deed[]): Promise<Rows> {
    return this.send((answer) => this.perform(deeds, answer))
  }

  private perform(deeds: readonly Deed[], answer: (rows: Rows) => void): void {
    const writes = deeds.flatMap(({ write }) => (write === undefined ? [] : [write]))
    const last = deeds.at(-1)
    if (writes.length === 0) {
      answer(toRows(last?.rows))
      return
    }
    let rows: Rows | null = null
    const durable = (): void => {
      if (rows !== null && this.isDurable) answer(rows)
    }
    rows = toRows(this.server.write(writes, durable) ?? last?.rows)
    if (!this.isDurable) answer(rows)
  }

  /** There, and back. `act` runs at the server, whoever waits for it by then. */
  private send(
    act: (answer: (rows: Rows) => void, fail: (error: Error) => void) => void,
  ): Promise<Rows> {
    const { world, life, server } = this
    const { promise, resolve, reject } = Promise.withResolvers<Rows>()
    this.last = promise
    this.isBusy = true
    const over = (settle: () => void): void => {
      this.isBusy = false
      settle()
    }
    if (this.isBroken) {
      over(() => reject(this.why()))
      return promise
    }
    this.breaking.push(() => over(() => reject(this.why())))
    const back = (settle: () => void): void => {
      this.travel(() => {
        if (this.way.cuts !== this.cuts) this.break(closed)
        else if (!this.isBroken) over(settle)
      }, life)
    }
    const arrive = (): void => {
      // Nothing is sent before it is connected.
      if (this.isBroken && this.incarnation === null) return
      const why = this.refusal()
      if (why === null) {
        this.incarnation ??= server.incarnation
        act(
          (rows) => back(() => resolve(rows)),
          (error) => back(() => reject(error)),
        )
      } else this.travel(() => this.break(why), life)
    }
    const isNew = this.incarnation === null && this.arrivesMs === 0
    if (isNew) world.after(CONNECT_MS, () => this.incarnation === null && this.break(silent), life)
    this.travel(arrive, world.outside)
    return promise
  }

  /** What the server says at times to who waits for locks: it was not done. */
  private busy(text: string): Error | null {
    if (!LOCKS.test(text) || this.way.isCalm || !this.world.odds(1)) return null
    return /\b(admit|settle)\(/.test(text) && this.world.odds(50)
      ? new PostgresError('deadlock detected', 'ERR_POSTGRES_SERVER_ERROR', '40P01')
      : new PostgresError('canceling statement', 'ERR_POSTGRES_SERVER_ERROR', '55P03')
  }

  /** Why the server does not take what arrives. */
  private refusal(): (() => Error) | null {
    const { server, incarnation } = this
    if (this.way.cuts !== this.cuts) return closed
    if (server.primary !== this.host) return incarnation === null ? refused : closed
    return incarnation === null || incarnation === server.incarnation ? null : closed
  }

  /** In order, and not while nothing passes: what was sent then is sent again by the kernels. */
  private travel(arrive: () => void, life: Life): void {
    const { world, way } = this
    const lateMs =
      !way.isCalm && world.odds(1)
        ? world.chance.exponential(1_200)
        : world.chance.exponential(world.usualMs)
    const untilMs = life === world.outside ? way.thereUntilMs : way.backUntilMs
    const passesMs = Math.max(world.nowMs, untilMs) + lateMs
    this.arrivesMs = Math.max(this.arrivesMs, passesMs)
    world.at(this.arrivesMs, arrive, life)
  }
}
