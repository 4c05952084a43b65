/** A process's connection to whoever keeps the store now: one keeper hands it to the next, and no call is lost between them. */
import type { Owner } from '#domain/owner.ts'
import { within } from '#domain/within.ts'
import { Link, type LinkEnd, linkSocket } from './link.ts'

/** What the process that keeps the store tells first. */
export interface Opened {
  readonly owner: Owner
  readonly shape: Shape
}

/** The names of methods, and those of ports with theirs. */
export type Shape = { readonly [name: string]: Shape | null }

/** What a process asks its keeper beside the ports: to be let in, as whom it was before or as a new one; and to leave for another. */
export const JOIN = 'join'
export const LEAVE = 'leave'
/** And whether all that it told has arrived. */
export const HEARD = 'heard'

/** Of what crosses between a process and its keeper. Where a release changes that, it cannot take over from the one before. */
export const FRONT_VERSION = 3

export interface LeaseEnd extends Pick<LinkEnd, 'answer' | 'learn'> {
  /** Of this process. */
  readonly pid: number
  /** The keeper has gone, and no other came. */
  lost(): void
}

/** How long the keeper that listens may take to open the store. */
const OPEN_MS = 10_000
/** How long a process looks for its next keeper: one that hangs is ended after 20 s, and the one before opens the store again. */
const LOOK_MS = 30_000
const RETRY_MS = 20

export class Lease {
  private readonly end: LeaseEnd
  private unix: string
  private link: Link | null = null
  private owner: Owner | null = null
  /** What waits for the next keeper; null while there is one. */
  private waiting: ((link: Link) => void)[] | null = null
  private moved: Promise<void> = Promise.resolve()

  constructor(unix: string, end: LeaseEnd) {
    this.unix = unix
    this.end = end
  }

  async open(): Promise<Opened> {
    const link = this.toLink()
    const joining = this.join(link, this.unix)
    if (!(await within(joining, OPEN_MS))) {
      link.close()
      throw new Error('the keeper has not opened the store')
    }
    const opened = await joining
    if (opened === null) throw new Error('the keeper refused')
    this.link = link
    this.owner = opened.owner
    return opened
  }

  /** @throws what the keeper throws; store_unavailable once it has gone */
  call(method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.waiting === null && this.link !== null) return this.link.call(method, args)
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.waiting?.push((link) => resolve(link.call(method, args)))
    return promise
  }

  /** A call without an answer. */
  tell(method: string, args: readonly unknown[]): void {
    if (this.waiting === null) this.link?.tell(method, args)
    else this.waiting.push((link) => link.tell(method, args))
  }

  /**
   * Leaves for the keeper at `unix`, once it is where it was sent before. Calls from now on wait for it; those before have their
   * answers first, so that no outcome is unknown. Where that keeper never serves, the one before may again.
   */
  move(unix: string): Promise<void> {
    const leave = (): Promise<void> => this.leaveFor(unix)
    this.moved = this.waiting === null ? leave() : this.moved.then(leave)
    return this.moved
  }

  private async leaveFor(unix: string): Promise<void> {
    const before = this.link
    if (before === null) return
    const waiting: ((link: Link) => void)[] = []
    this.waiting = waiting
    await before.quiet()
    try {
      // With its answer, all that was told before has arrived.
      await before.call(LEAVE, [])
    } catch {
      return
    }
    this.link = null
    before.close()
    const found = await this.find([unix, this.unix])
    if (found === null) return this.end.lost()
    this.link = found.link
    this.unix = found.unix
    this.waiting = null
    for (const send of waiting) send(found.link)
  }

  /** Resolves once every call has its answer, or never will, and what was told has arrived. */
  async quiet(): Promise<void> {
    await this.link?.quiet()
    await this.call(HEARD, []).catch(() => {})
  }

  close(): void {
    this.link?.close()
  }

  /**
   * Whichever of both keepers lets it in; null where one knows nothing of this process, or none serves. It waits at both at once: who
   * takes back what it has asked, to ask elsewhere, may have been let in already.
   */
  private async find(places: readonly string[]): Promise<Found | null> {
    const { promise, resolve } = Promise.withResolvers<Found | null>()
    const waiting = new Set<Link>()
    let isOver = false
    const ask = async (unix: string): Promise<void> => {
      while (!isOver) {
        const link = this.toLink()
        waiting.add(link)
        try {
          const opened = await this.join(link, unix)
          return resolve(opened && { link, unix })
        } catch {
          link.close()
          waiting.delete(link)
          await Bun.sleep(RETRY_MS)
        }
      }
    }
    for (const unix of places) void ask(unix)
    if (!(await within(promise, LOOK_MS))) resolve(null)
    isOver = true
    const found = await promise
    for (const link of waiting) if (link !== found?.link) link.close()
    return found
  }

  private toLink(): Link {
    const link: Link = new Link({
      answer: this.end.answer,
      learn: (news) => this.end.learn?.(news),
      closed: () => {
        if (link === this.link) this.end.lost()
      },
    })
    return link
  }

  /** Null where the keeper knows nothing of this process. @throws where there is none */
  private async join(link: Link, unix: string): Promise<Opened | null> {
    await Bun.connect({ unix, socket: linkSocket(link) })
    return (await link.call(JOIN, [this.owner, this.end.pid])) as Opened | null
  }
}

/** A keeper that has let this process in. */
interface Found {
  readonly link: Link
  readonly unix: string
}
