// Many wait under one timer: each hears once that its time is up, never early, and never after it was let go.
import { expect, test } from 'vitest'
import { unwatch, type Watched, watch } from '#upstream/watch-list.ts'

interface Waiter extends Watched {
  due: number
  expiredAt: number[]
}

function wait(ms: number): Waiter {
  const waiter: Waiter = {
    place: -1,
    due: performance.now() + ms,
    expiredAt: [],
    dueMs: () => waiter.due,
    expire: () => void waiter.expiredAt.push(performance.now()),
  }
  watch(waiter)
  return waiter
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('each at its own time, in whatever order they came and went', async () => {
  const waiters = Array.from({ length: 200 }, (_, i) => wait(30 + ((i * 37) % 100)))
  const gone = waiters.filter((_, i) => i % 3 === 0)
  for (const each of gone) unwatch(each)
  await pause(300)
  for (const [i, { due, expiredAt }] of waiters.entries()) {
    expect(expiredAt).toHaveLength(i % 3 === 0 ? 0 : 1)
    if (expiredAt[0] !== undefined) expect(expiredAt[0]).toBeGreaterThanOrEqual(due)
  }
  // Nothing is left that a second look or a second leaving could meet.
  for (const each of waiters) unwatch(each)
  expect(waiters.every(({ place }) => place === -1)).toBe(true)
})

test('a time that moves away is waited for, and one that comes nearer is told', async () => {
  const later = wait(30)
  later.due += 200
  const sooner = wait(100_000)
  sooner.due = performance.now() + 20
  watch(sooner)
  await pause(120)
  expect([later.expiredAt.length, sooner.expiredAt.length]).toEqual([0, 1])
  await pause(200)
  expect(later.expiredAt).toHaveLength(1)
})

test('whoever comes while others expire is watched too', async () => {
  const first = wait(20)
  let second: Waiter | undefined
  first.expire = () => {
    second = wait(20)
  }
  await pause(150)
  expect(second?.expiredAt).toHaveLength(1)
})
