/** The time that a body has to arrive in. */

import { clearDeadline, type Deadline, setDeadline } from '#domain/deadlines.ts'
import { GatewayError } from '#domain/errors.ts'

/** A body on its way. A class, because every request has one. */
export class Arrival implements Deadline {
  place = -1
  /** As many as were stated; of a body that is counted, as many as have come. */
  bytes = 0
  private readonly arriving = Promise.withResolvers<string>()
  private readonly deadlineMs: number
  private readonly due: number

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
    this.due = performance.now() + deadlineMs
  }

  /** Gives `reading` its time; whoever has awaited its text calls `finish`. */
  expect(reading: Promise<string>): this {
    reading.then(this.arriving.resolve, (thrown) => this.breakOff(thrown))
    setDeadline(this)
    return this
  }

  /** @throws what `reading` throws; invalid_request once the time is up, however much is still to come */
  text(): Promise<string> {
    return this.arriving.promise
  }

  /** Its time does not matter any more. */
  finish(): void {
    clearDeadline(this)
  }

  dueMs(): number {
    return this.due
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
