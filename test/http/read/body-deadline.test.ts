// The deadlines of request bodies: one timer serves all of them, and each body is held to its own deadline.
import { expect, test } from 'vitest'
import { Arrival } from '#http/read/body.ts'

/** Longer than any test takes. */
const LONG_MS = 600_000
/** A timer of the runtime may be a millisecond early. */
const EARLY = 0.95

const never = new Promise<string>(() => {})
const awaitBody = (reading: Promise<string>, ms: number) =>
  new Arrival({ isArriving: true, taken: null }, ms).expect(reading).then(({ text }) => text)

/** The text of the body or the message of its error, and how long it took. */
async function outcome(arriving: Promise<string>) {
  const beganMs = performance.now()
  const result = await arriving.catch((thrown: Error) => thrown.message)
  return { result, ms: performance.now() - beganMs }
}

test('a long deadline does not delay a shorter one that is set after it', async () => {
  void awaitBody(never, LONG_MS)
  const short = await outcome(awaitBody(never, 40))
  expect(short.result).toMatch(/^the body did not arrive within/)
  expect(short.ms).toBeGreaterThan(EARLY * 40)
})

test('the timer is set again for the next deadline after it has fired', async () => {
  const [first, second] = await Promise.all([
    outcome(awaitBody(never, 40)),
    outcome(awaitBody(never, 60)),
  ])
  expect(first.ms).toBeGreaterThan(EARLY * 40)
  expect(second.ms).toBeGreaterThan(EARLY * 60)
  expect(second.result).toMatch(/^the body did not arrive within/)
})

test('a body in time is returned, a late one is refused, and one that breaks off says so', async () => {
  expect(await outcome(awaitBody(Promise.resolve('{"body":1}'), LONG_MS))).toMatchObject({
    result: '{"body":1}',
  })
  const coming = Promise.withResolvers<string>()
  const late = awaitBody(coming.promise, 20)
  const outcomeOfLate = await outcome(late)
  coming.resolve('{}')
  expect(outcomeOfLate.result).toMatch(/^the body did not arrive within/)
  await expect(late).rejects.toThrow('did not arrive')
  const broken = Promise.reject(new Error('gone'))
  expect(await outcome(awaitBody(broken, LONG_MS))).toMatchObject({
    result: 'the body broke off before its end',
  })
})
