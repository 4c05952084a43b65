/**
 * A world without real time, in which code of the gateway runs unchanged: its timers, its clock and its randomness are replaced while
 * it runs, and each task runs to its end before the next begins, so that a seed decides all that happens, and its order.
 */
import { drainMicrotasks } from 'bun:jsc'
import { type Chance, startChance } from '../soak/chance.ts'

/** A machine, by how far its clock is ahead of the world's. */
export interface Machine {
  aheadMs: number
}

/** Whose code runs: a process of the gateway, or what is around it. */
export class Life {
  readonly name: string
  readonly machine: Machine
  /** Killed: nothing of it runs any more. */
  isDead = false
  /** Until then it stands still, as by SIGSTOP. */
  stoppedUntilMs = 0
  /** When its last turn of the event loop was due: they come in order. */
  lastTurnMs = 0
  readonly endings: (() => void)[] = []

  constructor(name: string, machine: Machine = { aheadMs: 0 }) {
    this.name = name
    this.machine = machine
  }
}

interface Task {
  dueMs: number
  readonly order: number
  readonly life: Life
  readonly run: () => void
  isGone: boolean
}

const isBefore = (one: Task, other: Task): boolean =>
  one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order)

/** What a timer of the runtime is, as far as anybody asks. */
class Timer {
  task: Task | null = null
  unref(): this {
    return this
  }
  ref(): this {
    return this
  }
}

const USUAL_MS = [0.2, 2, 15]

/** Lines that are kept of a run, to be printed where it fails. */
const MOST_LINES = 4_000

export class World {
  readonly chance: Chance
  /** That of the world's own affairs. */
  readonly outside = new Life('world')
  nowMs = 0
  /** Whose code runs at this moment. */
  life: Life = this.outside
  /** Tasks that have run. */
  steps = 0
  readonly lines: string[] = []
  /** What went wrong where nobody catches it. */
  readonly uncaught: unknown[] = []
  private readonly startsAt: number
  private readonly heap: Task[] = []
  private orders = 0
  private hash = 0x811c9dc5

  /** How long a message is on its way. */
  readonly usualMs: number
  /** What is done between two tasks, once so many have run. */
  private interruption: { readonly atStep: number; readonly run: () => void } | null = null

  constructor(seed: number, startsAt: number) {
    this.chance = startChance(seed)
    this.usualMs = USUAL_MS[this.chance.pick(USUAL_MS.length)] as number
    this.startsAt = startsAt
  }

  /** Of everything that has happened, in its order. */
  get digest(): string {
    return (this.hash >>> 0).toString(16).padStart(8, '0')
  }

  /** The time of day, as the machine of whoever asks has it. */
  get today(): number {
    return Math.floor(this.startsAt + this.nowMs + this.life.machine.aheadMs)
  }

  say(what: string): void {
    this.mix(Number(Bun.hash.crc32(what)))
    this.lines.push(`${(this.nowMs / 1000).toFixed(4).padStart(9)} ${this.life.name}: ${what}`)
    if (this.lines.length > MOST_LINES) this.lines.splice(0, MOST_LINES / 2)
  }

  /** Whether it happens, of so many in a hundred. */
  odds(percent: number): boolean {
    return this.chance.draw() * 100 < percent
  }

  after(ms: number, run: () => void, life: Life = this.life): Task {
    return this.at(this.nowMs + ms, run, life)
  }

  at(dueMs: number, run: () => void, life: Life): Task {
    const task = { dueMs, order: ++this.orders, life, run, isGone: false }
    this.push(task)
    return task
  }

  /** Between two tasks, once so many more have run: a moment that no timer would choose. */
  interrupt(inSteps: number, run: () => void): void {
    this.interruption = { atStep: this.steps + inSteps, run }
  }

  kill(life: Life): void {
    if (life.isDead) return
    life.isDead = true
    for (const end of life.endings.splice(0)) end()
  }

  /** Runs what is due until `done`; false where that is not so after `mostMs`. */
  run(done: () => boolean, mostMs: number): boolean {
    const untilMs = this.nowMs + mostMs
    while (!done()) {
      const task = this.pop()
      if (task === null) return done()
      if (task.isGone || task.life.isDead) continue
      if (task.dueMs > untilMs) {
        this.push(task)
        this.nowMs = untilMs
        return false
      }
      const { stoppedUntilMs } = task.life
      if (stoppedUntilMs > task.dueMs) {
        task.dueMs = stoppedUntilMs
        this.push(task)
        continue
      }
      this.nowMs = Math.max(this.nowMs, task.dueMs)
      this.step(task)
    }
    return true
  }

  /** What it comes to, once all that it waits for has happened. */
  wait<T>(what: string, begin: () => Promise<T>, life: Life = this.outside): T {
    let ended: { readonly value: T } | { readonly thrown: unknown } | null = null
    this.after(
      0,
      () => {
        begin().then(
          (value) => {
            ended = { value }
          },
          (thrown) => {
            ended = { thrown }
          },
        )
      },
      life,
    )
    if (!this.run(() => ended !== null, PATIENCE_MS)) throw new Error(`it does not end: ${what}`)
    const found = ended as unknown as { readonly value: T } | { readonly thrown: unknown }
    if ('thrown' in found) throw found.thrown
    return found.value
  }

  setTimer(run: () => void, ms: number, isRepeated: boolean): Timer {
    const timer = new Timer()
    const { life } = this
    const arm = (): void => {
      timer.task = this.after(
        Math.max(1, Number.isFinite(ms) ? ms : 1),
        () => {
          if (isRepeated) arm()
          run()
        },
        life,
      )
    }
    arm()
    return timer
  }

  /** The next turn of the event loop of who asks. */
  nextTurn(run: () => void): Timer {
    const { life } = this
    const atMs = Math.max(life.lastTurnMs, this.nowMs) + this.chance.draw() * MOST_TURN_MS
    life.lastTurnMs = atMs
    const timer = new Timer()
    timer.task = this.after(atMs - this.nowMs, run, life)
    return timer
  }

  private step({ life, run, dueMs }: Task): void {
    this.life = life
    this.steps++
    this.mix(Math.round(dueMs * 1000))
    try {
      run()
      drainMicrotasks()
    } catch (thrown) {
      this.uncaught.push(thrown)
    }
    this.life = this.outside
    if (this.interruption === null || this.steps < this.interruption.atStep) return
    const { run: interrupt } = this.interruption
    this.interruption = null
    interrupt()
  }

  private mix(value: number): void {
    this.hash = Math.imul(this.hash ^ (value & 0xffff_ffff), 0x0100_0193)
    this.hash ^= this.hash >>> 15
  }

  private push(task: Task): void {
    const { heap } = this
    let at = heap.push(task) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(task, heap[above] as Task)) break
      heap[at] = heap[above] as Task
      at = above
    }
    heap[at] = task
  }

  private pop(): Task | null {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined) return null
    if (heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      const right = heap[below + 1]
      if (right !== undefined && isBefore(right, heap[below] as Task)) below++
      if (!isBefore(heap[below] as Task, last)) break
      heap[at] = heap[below] as Task
      at = below
    }
    heap[at] = last
    return first
  }
}

/** How long the world's own affairs may take. */
const PATIENCE_MS = 120_000
const MOST_TURN_MS = 0.2

/** What reaches out of a process: of `Bun`. */
export interface Reach {
  readonly listen: unknown
  readonly connect: unknown
  readonly serve: unknown
  readonly SQL: unknown
}

/** Puts the world in the place of what the runtime has; the result puts that back. */
export function enter(world: World, reach: Reach): () => void {
  const undo: (() => void)[] = []
  const put = (target: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(target, name)
    if (before?.writable) Reflect.set(target, name, value)
    else Object.defineProperty(target, name, { value, configurable: true, writable: true })
    undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(target, name)
      else if (before.writable) Reflect.set(target, name, before.value)
      else Object.defineProperty(target, name, before)
    })
  }
  const clear = (timer: unknown): void => {
    if (timer instanceof Timer && timer.task !== null) timer.task.isGone = true
  }
  type Run = (...args: readonly unknown[]) => void
  put(globalThis, 'setTimeout', (run: Run, ms = 0, ...args: unknown[]) =>
    world.setTimer(() => run(...args), ms, false),
  )
  put(globalThis, 'setInterval', (run: Run, ms = 0, ...args: unknown[]) =>
    world.setTimer(() => run(...args), ms, true),
  )
  put(globalThis, 'setImmediate', (run: Run, ...args: unknown[]) =>
    world.nextTurn(() => run(...args)),
  )
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate'])
    put(globalThis, name, clear)
  for (const [name, value] of Object.entries(reach)) put(Bun, name, value)
  put(Bun, 'sleep', (ms: number) => new Promise<void>((done) => world.after(ms, done)))
  put(Date, 'now', () => world.today)
  put(performance, 'now', () => world.nowMs)
  put(Math, 'random', () => world.chance.draw())
  put(crypto, 'getRandomValues', <T extends ArrayBufferView>(into: T): T => {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
    for (let at = 0; at < bytes.length; at++) bytes[at] = world.chance.pick(256)
    return into
  })
  put(crypto, 'randomUUID', () => {
    const hex = Array.from({ length: 8 }, () => world.chance.pick(0x10000).toString(16))
    const [a, b, c, d, e, f, g, h] = hex.map((part) => part.padStart(4, '0'))
    return `${a}${b}-${c}-${d}-${e}-${f}${g}${h}`
  })
  // The runtime's own is done on another thread.
  put(crypto.subtle, 'digest', async (_: string, bytes: Uint8Array) => {
    const hash = Bun.SHA256.hash(bytes as Uint8Array<ArrayBuffer>)
    return hash.buffer
  })
  return () => {
    for (const one of undo.reverse()) one()
  }
}
