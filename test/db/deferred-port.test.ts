// A port is loaded by the first call that is made of it, once, and is itself from then on.
import { expect, test } from 'vitest'
import { lazyPort } from '#db/sqlite/engine/lazy-port.ts'

test('nothing is loaded before the first call, and only once after it', async () => {
  let loads = 0
  const own = {
    double: async (number: number) => number * 2,
    refuse: async (): Promise<never> => {
      throw new RangeError('no')
    },
  }
  const port = lazyPort<typeof own>({ double: true, refuse: true }, async () => {
    loads++
    return own
  })
  expect(loads).toBe(0)
  expect(await Promise.all([port.double(1), port.double(2)])).toEqual([2, 4])
  await expect(port.refuse()).rejects.toThrow(RangeError)
  expect(await port.double(3)).toBe(6)
  expect(loads).toBe(1)
  expect(port.double).toBe(own.double)
})
