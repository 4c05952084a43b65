/** Unix sockets between processes of a world: bytes come late and in pieces, and a sender's buffer is full at times. */
import { writeFileSync } from 'node:fs'
import type { Life, World } from './world.ts'

interface Events {
  open?(socket: End): void
  data?(socket: End, bytes: Buffer): void
  drain?(socket: End): void
  close?(socket: End): void
}

interface Listener {
  readonly life: Life
  readonly events: Events
  readonly ends: Set<End>
}

/** One end of a connection. */
class End {
  data: unknown
  other: End | null = null
  isClosed = false
  /** Whether its process has been told of it. */
  isOpen = false
  /** When the last byte that was sent to it arrives. */
  arrivesMs = 0
  private readonly coming: Buffer[] = []
  private readonly world: World
  private readonly life: Life
  readonly events: Events

  constructor(world: World, life: Life, events: Events) {
    this.world = world
    this.life = life
    this.events = events
    life.endings.push(() => this.terminate())
  }

  /** How many bytes it takes now. */
  write(bytes: Uint8Array): number {
    const { world, other } = this
    if (this.isClosed || other === null) return -1
    let taken = bytes.length
    if (world.odds(3)) {
      taken = world.chance.pick(bytes.length)
      world.after(world.chance.exponential(2), () => this.isClosed || this.events.drain?.(this))
    }
    for (let from = 0; from < taken; ) {
      const many = world.odds(80) ? taken - from : 1 + world.chance.pick(taken - from)
      other.receive(Buffer.from(bytes.subarray(from, from + many)))
      from += many
    }
    return taken
  }

  /** Late, and together with what was sent after it, at times. */
  receive(bytes: Buffer): void {
    this.coming.push(bytes)
    this.arrive(() => {
      const come = this.coming.splice(0, this.world.odds(30) ? this.coming.length : 1)
      if (come.length > 0 && !this.isClosed) this.events.data?.(this, Buffer.concat(come))
    })
  }

  open(): void {
    if (this.isClosed) return
    this.isOpen = true
    this.events.open?.(this)
  }

  end(): void {
    this.terminate()
  }

  terminate(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (this.isOpen) this.world.after(0, () => this.events.close?.(this), this.life)
    // What was sent before still arrives.
    this.other?.arrive(() => this.other?.closed())
  }

  closed(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (this.isOpen) this.events.close?.(this)
  }

  arrive(happens: () => void): void {
    const { world } = this
    const lateMs = world.chance.exponential(world.odds(2) ? 200 : world.usualMs)
    this.arrivesMs = Math.max(this.arrivesMs, world.nowMs + lateMs)
    world.at(this.arrivesMs, happens, this.life)
  }
}

/** `Bun.listen` and `Bun.connect` of that world. */
export function openSockets(world: World) {
  const listeners = new Map<string, Listener>()
  return {
    listen({ unix, socket }: { readonly unix: string; readonly socket: Events }) {
      const listener: Listener = { life: world.life, events: socket, ends: new Set() }
      listeners.set(unix, listener)
      // There is such a file, of which its owner sets who may open it.
      writeFileSync(unix, '')
      return {
        stop(endsAll = false) {
          if (listeners.get(unix) === listener) listeners.delete(unix)
          if (endsAll) for (const end of listener.ends) end.terminate()
        },
      }
    },
    async connect({ unix, socket }: { readonly unix: string; readonly socket: Events }) {
      const listener = listeners.get(unix)
      if (listener === undefined || listener.life.isDead) throw new Error('ECONNREFUSED')
      const near = new End(world, world.life, socket)
      const far = new End(world, listener.life, listener.events)
      near.other = far
      far.other = near
      listener.ends.add(far)
      const open = Promise.withResolvers<End>()
      far.arrive(() => far.open())
      near.arrive(() => {
        if (near.isClosed) return open.reject(new Error('ECONNRESET'))
        near.open()
        open.resolve(near)
      })
      return await open.promise
    },
  }
}
