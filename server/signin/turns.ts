/** Work that must not overlap: the requests of one browser session, and the submissions of one form. */

/** Runs work with the same key in the order of the calls, one at a time; other keys, and no key, do not wait. */
export type Turns = <Result>(
  key: string | undefined,
  work: () => Promise<Result>,
) => Promise<Result>

/** Holds one entry for each key that is in use. */
export function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    if (key === undefined) return await work()
    const before = last.get(key)
    const turn = before === undefined ? work() : before.then(work, work)
    last.set(key, turn)
    try {
      return await turn
    } finally {
      if (last.get(key) === turn) last.delete(key)
    }
  }
}
