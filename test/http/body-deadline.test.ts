// The time that bodies have to arrive in: one timer for all, and each of them held to its own.
import { expect, test } from 'vitest'
import { Arrival, arrived } from '#http/body-deadline.ts'

const never = () => new Promise<string>(() => {})
const awaitBody = (reading: Promise<string>, ms: number) => new Arrival(ms).expect(reading)

/** What becomes of it, and after how long. */
async function outcome(arrival: Arrival) {
  const beganMs = performance.now()
  const said = await arrival.read.catch((thrown: Error) => thrown.message)
  arrived(arrival)
  return { said, ms: performance.now() - beganMs }
}

test('a long deadline does not delay a shorter one that is set after it', async () => {
  const [long, short] = await Promise.all([
    outcome(awaitBody(never(), 300)),
    outcome(awaitBody(never(), 40)),
  ])
  expect(short.said).toMatch(/^the body did not arrive within/)
  expect(short.ms).toBeLessThan(250)
  expect(short.ms).toBeGreaterThanOrEqual(39)
  expect(long.said).toMatch(/^the body did not arrive within/)
  expect(long.ms).toBeGreaterThanOrEqual(299)
})

test('the timer that one of them set wakes for the next as well', async () => {
  const first = outcome(awaitBody(never(), 40))
  await Bun.sleep(20)
  const second = outcome(awaitBody(never(), 40))
  expect((await first).ms).toBeGreaterThanOrEqual(39)
  expect((await second).ms).toBeGreaterThanOrEqual(39)
  expect((await second).said).toMatch(/^the body did not arrive within/)
})

test('what comes in time is what is read, and what breaks off is told so', async () => {
  const late = outcome(
    awaitBody(
      Bun.sleep(200).then(() => 'late'),
      40,
    ),
  )
  expect(
    await outcome(
      awaitBody(
        Bun.sleep(10).then(() => 'body'),
        40,
      ),
    ),
  ).toMatchObject({
    said: 'body',
  })
  const broken = Bun.sleep(10).then(() => Promise.reject(new Error('gone')))
  expect(await outcome(awaitBody(broken, 40))).toMatchObject({
    said: 'the body broke off before its end',
  })
  expect((await late).said).toMatch(/^the body did not arrive within/)
})
