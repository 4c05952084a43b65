/** An interruptible sleep for a loop. */

export interface Waker {
  /** Ends the current sleep, or the next one if none is in progress. */
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
