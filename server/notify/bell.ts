/** A bell: wakes a loop before its time. */

export interface Bell {
  /** Rung while nobody listens, it is heard by the next who does. */
  ring(): void
  /** Resolves when it is rung, at the latest after `ms`. */
  rung(ms: number): Promise<void>
}

/** For one listener at a time. */
export function createBell(): Bell {
  let isRung = false
  let answer: (() => void) | null = null
  const ring = (): void => {
    isRung = true
    answer?.()
  }
  return {
    ring,
    rung: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(ring, ms)
        answer = () => {
          clearTimeout(timer)
          isRung = false
          answer = null
          resolve()
        }
        if (isRung) answer()
      }),
  }
}
