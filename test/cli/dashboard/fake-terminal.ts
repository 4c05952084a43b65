/** A terminal made of two ends: what Ink writes is kept, what is typed arrives as the bytes that a keyboard sends. */
import { EventEmitter } from 'node:events'

/** Where Ink draws. */
export class FakeScreen extends EventEmitter {
  readonly isTTY = true
  columns: number
  rows: number
  written = ''

  constructor(columns: number, rows: number) {
    super()
    this.columns = columns
    this.rows = rows
  }

  write(text: string | Uint8Array, ...rest: readonly unknown[]): boolean {
    this.written += typeof text === 'string' ? text : Buffer.from(text).toString()
    const done = rest.findLast((one) => typeof one === 'function')
    if (typeof done === 'function') done()
    return true
  }

  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.emit('resize')
  }
}

/** Where Ink listens. */
export class FakeKeyboard extends EventEmitter {
  readonly isTTY = true
  isRaw = false
  #typed: string[] = []

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw
    return this
  }
  setEncoding(): this {
    return this
  }
  resume(): this {
    return this
  }
  pause(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  read(): string | null {
    return this.#typed.shift() ?? null
  }

  /** All of it in one piece, as a slow line brings it. */
  type(text: string): void {
    this.#typed.push(text)
    this.emit('readable')
    this.emit('data', text)
  }
}
