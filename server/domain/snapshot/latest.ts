/** Latest: the newest few of whatever is put in, however much that is. */
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

  /** How many were put in so far, the forgotten ones too. */
  get count(): number {
    return this.#put
  }

  /** Newest first, down to the one after the first `seen` that were put in. */
  *since(seen = 0): Generator<T, void> {
    const oldest = Math.max(seen, this.#put - this.#most)
    for (let number = this.#put - 1; number >= oldest; number--) {
      yield this.#kept[number % this.#most] as T
    }
  }
}
