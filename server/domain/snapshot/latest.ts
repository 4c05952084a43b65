/** A ring buffer of the newest items. */
export class Latest<T> {
  readonly #most: number
  readonly #kept: T[] = []
  #put = 0

  constructor(most: number) {
    this.#most = most
  }

  put(one: T): void {
    this.#kept[this.#put % this.#most] = one
    this.#put++
  }

  /** How many were added so far, dropped ones included. */
  get count(): number {
    return this.#put
  }

  /** Newest first, without the first `seen` that were ever added. */
  *since(seen = 0): Generator<T, void> {
    const oldest = Math.max(seen, this.#put - this.#most)
    for (let number = this.#put - 1; number >= oldest; number--) {
      yield this.#kept[number % this.#most] as T
    }
  }
}
