/** A value, or a promise of it if it must be read from the database first. */

/**
 * The result of a port on the hot path. `await` is always correct; code that skips it for a plain value saves a promise and
 * a microtask.
 */
export type MaybePromise<T> = T | Promise<T>
