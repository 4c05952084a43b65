// Many wait under one timer: each hears once that its time is up, never early, and never after it was let go.
import { expect, test } from 'vitest'
import { clearDeadline, type Deadline, setDeadline } from '#runtime/short-lived.ts'
import { until } from '#test/upstream/http1/raw-provider.ts'

interface Waiter extends Deadline {
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
  setDeadline(waiter)
  return waiter
}

test('each at its own time, in whatever order they came and went', async () => {
  const waiters = Array.from({ length: 200 }, (_, i) => wait(30 + ((i * 37) % 100)))
  const gone = waiters.filter((_, i) => i % 3 === 0)
  const left = waiters.filter((_, i) => i % 3 !== 0)
  for (const each of gone) clearDeadline(each)
  await until(() => left.every(({ expiredAt }) => expiredAt.length > 0))
  for (const { due, expiredAt } of left) {
    expect(expiredAt).toHaveLength(1)
    expect(expiredAt[0]).toBeGreaterThanOrEqual(due)
  }
  // Nothing is left that a second leaving could meet.
  for (const each of waiters) clearDeadline(each)
  expect(gone.flatMap(({ expiredAt }) => expiredAt)).toEqual([])
  expect(waiters.every(({ place }) => place === -1)).toBe(true)
})

test('a deadline that moves later is waited for, and one that moves earlier is set again', async () => {
  const later = wait(10)
  later.due += 60_000
  const sooner = wait(60_000)
  sooner.due = performance.now() + 20
  setDeadline(sooner)
  await until(() => sooner.expiredAt.length === 1)
  expect(later.expiredAt).toEqual([])
  later.due = performance.now()
  setDeadline(later)
  await until(() => later.expiredAt.length === 1)
})

test('a deadline that is set while others expire is watched too', async () => {
  const first = wait(20)
  let second: Waiter | undefined
  first.expire = () => {
    second = wait(20)
  }
  await until(() => second?.expiredAt.length === 1)
})
