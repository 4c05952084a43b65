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
/** How long one of two keepers is waited for before the other is tried. */
const TRY_MS = 2_000
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

  constructor(unix: string, end: LeaseEnd) {
    this.unix = unix
    this.end = end
  }

  async open(): Promise<Opened> {
    const { link, opened } = await this.join(this.unix)
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
   * Leaves for the keeper at `unix`. Calls from now on wait for it; those before have their answers first, so that no outcome is
   * unknown. Where that keeper never serves, the one before may again.
   */
  async move(unix: string): Promise<void> {
    const before = this.link
    if (this.waiting !== null || before === null) return
    this.waiting = []
    await before.quiet()
    try {
      // With its answer, all that was told before has arrived.
      await before.call(LEAVE, [])
    } catch {
      return
    }
    this.link = null
    before.close()
    const link = await this.find([unix, this.unix])
    if (link === null) return this.end.lost()
    this.link = link
    const waiting = this.waiting
    this.waiting = null
    for (const send of waiting) send(link)
  }

  /** Resolves once every call has its answer, or never will, and what was told has arrived. */
  async quiet(): Promise<void> {
    await this.link?.quiet()
    await this.call(HEARD, []).catch(() => {})
  }

  close(): void {
    this.link?.close()
  }

  /** Whichever of both keepers lets it in; null where none does. */
  private async find(places: readonly string[]): Promise<Link | null> {
    const startedMs = performance.now()
    for (let tries = 0; performance.now() - startedMs < LOOK_MS; tries++) {
      const unix = places[tries % places.length] as string
      try {
        const { link, opened } = await this.join(unix)
        if (opened === null) return null
        this.unix = unix
        return link
      } catch {
        await Bun.sleep(RETRY_MS)
      }
    }
    return null
  }

  /** Null where the keeper knows nothing of this process. @throws where there is none, or where it does not open in time */
  private async join(
    unix: string,
  ): Promise<{ readonly link: Link; readonly opened: Opened | null }> {
    const link: Link = new Link({
      answer: this.end.answer,
      learn: (news) => this.end.learn?.(news),
      closed: () => {
        if (link === this.link) this.end.lost()
      },
    })
    await Bun.connect({ unix, socket: linkSocket(link) })
    const joining = link.call(JOIN, [this.owner, this.end.pid]) as Promise<Opened | null>
    if (await within(joining, this.owner === null ? OPEN_MS : TRY_MS))
      return { link, opened: await joining }
    joining.catch(() => {})
    link.close()
    throw new Error('the keeper has not opened the store')
  }
}
