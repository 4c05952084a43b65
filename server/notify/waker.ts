/** Wakes a loop before its time. */

export interface Waker {
  /** While nobody sleeps, it is kept for the next who does. */
  wake(): void
  /** Resolves when it is woken, at the latest after `ms`. */
  sleep(ms: number): Promise<void>
}

/** For one sleeper at a time. */
export function createWaker(): Waker {
  let isWoken = false
  let answer: (() => void) | null = null
  const wake = (): void => {
    isWoken = true
    answer?.()
  }
  return {
    wake,
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(wake, ms)
        answer = () => {
          clearTimeout(timer)
          isWoken = false
          answer = null
          resolve()
        }
        if (isWoken) answer()
      }),
  }
}
