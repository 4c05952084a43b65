/** What one turn of the event loop asks leaves as one call; the next leaves when the last has returned, so that batches grow under load. */
import { isBadData } from './errors.ts'

/** More would keep their accounts locked for too long. */
const MOST = 500

interface Asked<Act, Answer> {
  readonly act: Act
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * `call` answers each act of a batch, in their order. Where it fails because of what is in one of them, each half is asked by itself,
 * until that one fails alone.
 */
export function batched<Act, Answer>(
  call: (acts: readonly Act[]) => Promise<readonly Answer[]>,
): (act: Act) => Promise<Answer> {
  const waiting: Asked<Act, Answer>[] = []
  let isRunning = false

  const ask = async (batch: readonly Asked<Act, Answer>[]): Promise<void> => {
    try {
      const answers = await call(batch.map(({ act }) => act))
      batch.forEach(({ resolve }, nth) => {
        resolve(answers[nth] as Answer)
      })
    } catch (error) {
      if (batch.length > 1 && isBadData(error)) {
        const half = batch.length >> 1
        await ask(batch.slice(0, half))
        return await ask(batch.slice(half))
      }
      for (const { reject } of batch) reject(error)
    }
  }
  const run = async (): Promise<void> => {
    while (waiting.length > 0) await ask(waiting.splice(0, MOST))
    isRunning = false
  }
  return (act) =>
    new Promise((resolve, reject) => {
      waiting.push({ act, resolve, reject })
      if (isRunning) return
      isRunning = true
      setImmediate(run)
    })
}
