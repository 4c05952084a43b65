/** A value, or a promise of it where it has to be read from the disk first. */

/**
 * What ports answer on the path of a request. `await` is always right; code that goes on without it where the value is there
 * saves a promise and a turn of the microtask queue.
 */
export type MaybePromise<T> = T | Promise<T>
