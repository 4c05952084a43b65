// A credential that expires: fetched once for all who wait, renewed while the old one serves, and never kept beyond its end.
import { describe, expect, test } from 'vitest'
import { handClock } from '#test/support/hand-clock.ts'
import { keepLease, type Lease } from '#upstream/lease.ts'

const MINUTE_MS = 60_000

/** A source whose answers the test gives one by one. */
function source(lifetimeMs: number | null = 60 * MINUTE_MS) {
  const clock = handClock('2026-11-24T12:00:00Z')
  const waiting: PromiseWithResolvers<Lease<string>>[] = []
  const lease = keepLease(
    () => {
      const coming = Promise.withResolvers<Lease<string>>()
      waiting.push(coming)
      return coming.promise
    },
    () => clock.monotonicMs(),
  )
  const give = async (value: string): Promise<void> => {
    waiting.at(-1)?.resolve({ value, lifetimeMs })
    await Promise.resolve()
  }
  const fail = (why: string) => waiting.at(-1)?.reject(new Error(why))
  return { clock, lease, give, fail, asked: () => waiting.length }
}

describe('a lease', () => {
  test('is fetched once for all who wait for it', async () => {
    const { lease, give, asked } = source()
    const all = [lease.get(), lease.get(), lease.get()]
    await give('one')
    expect(await Promise.all(all)).toEqual(['one', 'one', 'one'])
    expect(await lease.get()).toBe('one')
    expect(asked()).toBe(1)
  })

  test('is renewed before its end by one fetch, for which nobody waits', async () => {
    const { clock, lease, give, asked } = source()
    const first = lease.get()
    await give('one')
    await first
    clock.advance(55 * MINUTE_MS - 1)
    expect(await lease.get()).toBe('one')
    expect(asked()).toBe(1)
    clock.advance(1)
    expect(await Promise.all([lease.get(), lease.get()])).toEqual(['one', 'one'])
    expect(asked()).toBe(2)
    await give('two')
    expect(await lease.get()).toBe('two')
  })

  test('that cannot be renewed serves to its end, and is tried again half a minute later', async () => {
    const { clock, lease, give, fail, asked } = source()
    const first = lease.get()
    await give('one')
    await first
    clock.advance(55 * MINUTE_MS)
    await lease.get()
    fail('away')
    await new Promise(setImmediate)
    expect(await lease.get()).toBe('one')
    expect(asked()).toBe(2)
    clock.advance(30_000)
    expect(await lease.get()).toBe('one')
    expect(asked()).toBe(3)
    fail('away')
    await new Promise(setImmediate)
    clock.advance(4 * MINUTE_MS)
    const late = lease.get()
    fail('away for good')
    await expect(late).rejects.toThrow('away for good')
  })

  test('that could not be fetched is fetched anew by the next who asks', async () => {
    const { lease, give, fail } = source()
    const first = [lease.get(), lease.get()]
    fail('away')
    await expect(Promise.all(first)).rejects.toThrow('away')
    await new Promise(setImmediate)
    const second = lease.get()
    await give('one')
    expect(await second).toBe('one')
  })

  test('is not kept beyond its end, whatever is done to the time of day', async () => {
    const { clock, lease, give, asked } = source()
    const first = lease.get()
    await give('one')
    await first
    clock.step(-24 * 60 * MINUTE_MS)
    clock.advance(60 * MINUTE_MS - 30_000)
    const second = lease.get()
    await give('two')
    expect(await second).toBe('two')
    expect(asked()).toBe(2)
  })

  test('that lives a few seconds is used all the same', async () => {
    const { lease, give } = source(10_000)
    const first = lease.get()
    await give('one')
    await first
    expect(await lease.get()).toBe('one')
  })

  test('that was refused is forgotten, unless it has just been fetched', async () => {
    const { clock, lease, give, asked } = source(null)
    const first = lease.get()
    await give('one')
    await first
    lease.forget()
    expect(await lease.get()).toBe('one')
    clock.advance(30_000)
    lease.forget()
    const second = lease.get()
    await give('two')
    expect(await second).toBe('two')
    expect(asked()).toBe(2)
  })
})
