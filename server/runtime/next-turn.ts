/** Long work is done in pieces, and requests pass between two of them. */

/** Resolves once everything that waits for this thread has had its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
