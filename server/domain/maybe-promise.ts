/** Soon: an answer that is there at once where memory has it, and on its way where it has to be read. */

/**
 * What a port answers that is asked by every request. Awaiting it is always right; a request that goes on without, where
 * it can, saves a promise and a turn of the microtask queue for each.
 */
export type MaybePromise<T> = T | Promise<T>
