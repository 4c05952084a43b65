/** The deadline by which a request's body must have arrived. */

import { clearDeadline, type Deadline, setDeadline } from '#domain/deadlines.ts'
import { GatewayError } from '#domain/errors.ts'

/** A body that is being received. A class, because every request has one. */
export class Arrival implements Deadline {
  place = -1
  /** The stated length; of a chunked body, the bytes that have come so far. */
  bytes = 0
  private readonly arriving = Promise.withResolvers<string>()
  private readonly deadlineMs: number
  private readonly dueAtMs: number

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
    this.dueAtMs = performance.now() + deadlineMs
  }

  /** Starts the deadline of `reading`; the caller awaits its text and then calls `finish`. */
  expect(reading: Promise<string>): this {
    reading.then(this.arriving.resolve, (thrown) => this.breakOff(thrown))
    setDeadline(this)
    return this
  }

  /** @throws what `reading` throws; invalid_request once the time is up, however much is still to come */
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
