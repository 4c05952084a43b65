/** Calls between two processes over one socket, in both directions. What one turn of the event loop asks and answers is one frame. */
import type { Socket } from 'bun'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import { type Answer, Arriving, type Call, type Failure, type Frame, toBytes } from './frame.ts'

export interface LinkEnd {
  /** Answers a call of the other side. What it throws is thrown there, without its cause. */
  answer(method: string, args: readonly unknown[]): unknown
  /** What the other side must know before it sees anything of the next frame; undefined: nothing. */
  news?(): unknown
  /** Before anything of the frame is seen that brings it. */
  learn?(news: unknown): void
  /** The other side has gone: every call that waits fails next. */
  closed(): void
}

/** One side of a connection. */
export class Link {
  private readonly end: LinkEnd
  private socket: Socket<unknown> | null = null
  private calls: Call[] = []
  private answers: Answer[] = []
  private isScheduled = false
  private lastId = 0
  private readonly waiting = new TransientMap<number, PromiseWithResolvers<unknown>>()
  /** What the socket did not take yet. */
  private unsent: Buffer[] = []
  private readonly arriving = new Arriving()
  private isClosed = false
  private quieted: PromiseWithResolvers<void> | null = null

  constructor(end: LinkEnd) {
    this.end = end
  }

  /** @throws what the other side's `answer` throws; store_unavailable once it has gone */
  call(method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.isClosed) return Promise.reject(gone())
    const id = ++this.lastId
    const resolvers = Promise.withResolvers<unknown>()
    this.waiting.set(id, resolvers)
    this.calls.push([id, method, args])
    this.schedule()
    return resolvers.promise
  }

  /** A call without an answer. A later call sees what it has done. */
  tell(method: string, args: readonly unknown[]): void {
    if (this.isClosed) return
    this.calls.push([0, method, args])
    this.schedule()
  }

  /** Resolves once every call has its answer, or never will. */
  async quiet(): Promise<void> {
    if (this.waiting.size === 0) return
    this.quieted ??= Promise.withResolvers()
    await this.quieted.promise
  }

  opened(socket: Socket<unknown>): void {
    this.socket = socket
  }

  /** Bytes have arrived, of a frame or of several. */
  take(bytes: Buffer): void {
    const { arriving } = this
    arriving.take(bytes)
    for (let frame = arriving.next(); frame !== null; frame = arriving.next()) this.read(frame)
  }

  /** The socket takes bytes again. */
  drained(): void {
    const waiting = this.unsent
    this.unsent = []
    for (const bytes of waiting) this.write(bytes)
  }

  closed(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.end.closed()
    for (const [, { reject }] of this.waiting) reject(gone())
    this.quieted?.resolve()
  }

  close(): void {
    this.socket?.terminate()
    this.closed()
  }

  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.send)
  }

  private readonly send = (): void => {
    this.isScheduled = false
    if (this.isClosed) return
    const { calls, answers } = this
    this.calls = []
    this.answers = []
    try {
      this.write(this.pack(calls, answers))
    } catch {
      // Not even its failures can leave: both sides begin anew.
      this.close()
    }
  }

  /** What cannot be cloned fails, with all calls and answers that would have left beside it. */
  private pack(calls: readonly Call[], answers: readonly Answer[]): Buffer {
    const news = this.end.news?.()
    try {
      return toBytes([calls, answers, news])
    } catch (thrown) {
      for (const [id] of calls) this.waiting.take(id)?.reject(thrown)
      const failure = toFailure(thrown)
      const failed = answers.map(([id, , , method]): Answer => [id, undefined, failure, method])
      return toBytes([[], failed, news])
    }
  }

  private write(bytes: Buffer): void {
    if (this.unsent.length > 0) {
      this.unsent.push(bytes)
      return
    }
    const sent = Math.max(0, this.socket?.write(bytes) ?? 0)
    if (sent < bytes.length) this.unsent.push(bytes.subarray(sent))
  }

  private read([calls, answers, news]: Frame): void {
    if (news !== undefined) this.end.learn?.(news)
    for (const [id, value, failure] of answers) {
      const waiting = this.waiting.take(id)
      if (failure === undefined) waiting?.resolve(value)
      else waiting?.reject(new GatewayError(failure.code, failure.message, failure.details))
    }
    if (this.waiting.size === 0) this.quieted?.resolve()
    for (const call of calls) this.run(call)
  }

  private run([id, method, args]: Call): void {
    const say = (value: unknown): void => {
      if (id !== 0) this.reply([id, value, undefined, method])
    }
    const fail = (thrown: unknown): void => {
      if (id !== 0) this.reply([id, undefined, toFailure(thrown), method])
    }
    try {
      const answered = this.end.answer(method, args)
      if (answered instanceof Promise) answered.then(say, fail)
      else say(answered)
    } catch (thrown) {
      fail(thrown)
    }
  }

  private reply(answer: Answer): void {
    this.answers.push(answer)
    this.schedule()
  }
}

function toFailure(thrown: unknown): Failure {
  const { code, message, details } = toGatewayError(thrown)
  return { code, message, details: { ...details, cause: undefined } }
}

const gone = (): GatewayError =>
  new GatewayError('store_unavailable', 'the process that keeps the books has ended: try again', {
    retryAfterSeconds: 1,
  })

/** The events of a socket that one link reads. */
export const linkSocket = (link: Link) => ({
  open: (socket: Socket<unknown>) => link.opened(socket),
  data: (_socket: Socket<unknown>, bytes: Buffer) => link.take(bytes),
  drain: () => link.drained(),
  close: () => link.closed(),
})
