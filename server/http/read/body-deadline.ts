/** The deadline by which a request's body must have arrived. */

import { GatewayError } from '#domain/errors.ts'
import { clearDeadline, type Deadline, setDeadline } from '#runtime/deadlines.ts'

/** A body that is being received. A class instead of closures, because every request has one. */
export class Arrival implements Deadline {
  place = -1
  /** The Content-Length; for a chunked body, the bytes received so far. */
  bytes = 0
  private readonly arriving = Promise.withResolvers<string>()
  private readonly deadlineMs: number
  private readonly dueAtMs: number

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
    this.dueAtMs = performance.now() + deadlineMs
  }

  /** Starts the deadline for `reading`; the caller awaits `text` and then calls `finish`. */
  expect(reading: Promise<string>): this {
    reading.then(this.arriving.resolve, (thrown) => this.breakOff(thrown))
    setDeadline(this)
    return this
  }

  /** @throws what `reading` throws; invalid_request when the deadline passes */
  text(): Promise<string> {
    return this.arriving.promise
  }

  /** Clears the deadline. */
  finish(): void {
    clearDeadline(this)
  }

  dueMs(): number {
    return this.dueAtMs
  }

  expire(): void {
    const seconds = Math.round(this.deadlineMs / 1000)
    this.arriving.reject(
      new GatewayError('invalid_request', `the body did not arrive within ${seconds} s`),
    )
  }

  private breakOff(thrown: unknown): void {
    this.finish()
    this.arriving.reject(
      thrown instanceof GatewayError
        ? thrown
        : new GatewayError('invalid_request', 'the body broke off before its end', {
            cause: thrown,
          }),
    )
  }
}
