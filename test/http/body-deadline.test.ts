// The time that bodies have to arrive in: one timer for all, and each of them held to its own.
import { expect, test } from 'vitest'
import { Arrival } from '#http/body-deadline.ts'

/** Longer than any test takes. */
const LONG_MS = 600_000

const never = new Promise<string>(() => {})
const awaitBody = (reading: Promise<string>, ms: number) => new Arrival(ms).expect(reading)

/** What becomes of it, and after how long. */
async function outcome(arrival: Arrival) {
  const beganMs = performance.now()
  const said = await arrival.text().catch((thrown: Error) => thrown.message)
  arrival.finish()
  return { said, ms: performance.now() - beganMs }
}

test('a long deadline does not delay a shorter one that is set after it', async () => {
  const long = awaitBody(never, LONG_MS)
  const short = await outcome(awaitBody(never, 40))
  expect(short.said).toMatch(/^the body did not arrive within/)
  expect(short.ms).toBeGreaterThanOrEqual(39)
  long.finish()
})

test('the timer that one of them set wakes for the next as well', async () => {
  const [first, second] = await Promise.all([
    outcome(awaitBody(never, 40)),
    outcome(awaitBody(never, 60)),
  ])
  expect(first.ms).toBeGreaterThanOrEqual(39)
  expect(second.ms).toBeGreaterThanOrEqual(59)
  expect(second.said).toMatch(/^the body did not arrive within/)
})

test('what comes in time is what is read, what comes late is not, and what breaks off is told so', async () => {
  expect(await outcome(awaitBody(Promise.resolve('body'), LONG_MS))).toMatchObject({ said: 'body' })
  const coming = Promise.withResolvers<string>()
  const late = awaitBody(coming.promise, 20)
  const told = await outcome(late)
  coming.resolve('late')
  expect(told.said).toMatch(/^the body did not arrive within/)
  await expect(late.text()).rejects.toThrow('did not arrive')
  const broken = Promise.reject(new Error('gone'))
  expect(await outcome(awaitBody(broken, LONG_MS))).toMatchObject({
    said: 'the body broke off before its end',
  })
})
