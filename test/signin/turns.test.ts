// Requests of one browser session: one at a time, in order, and not held up by those of other sessions.
import { expect, test } from 'vitest'
import { openTurns } from '#signin/turns.ts'

test('work with the same key runs one after another, in order; other keys do not wait', async () => {
  const turns = openTurns()
  const done: string[] = []
  const first = Promise.withResolvers<void>()
  const work = (name: string, before?: Promise<void>) => async () => {
    await before
    done.push(name)
    return name
  }
  const same = [
    turns('a', work('a1', first.promise)),
    turns('a', work('a2')),
    turns('a', work('a3')),
  ]
  expect(await turns('b', work('b'))).toBe('b')
  expect(await turns(undefined, work('none'))).toBe('none')
  expect(done).toEqual(['b', 'none'])
  first.resolve()
  expect(await Promise.all(same)).toEqual(['a1', 'a2', 'a3'])
  expect(done).toEqual(['b', 'none', 'a1', 'a2', 'a3'])
})

test('work that fails lets the next one run', async () => {
  const turns = openTurns()
  const failed = turns('a', () => Promise.reject(new Error('broke')))
  const next = turns('a', async () => 'next')
  await expect(failed).rejects.toThrow('broke')
  expect(await next).toBe('next')
  expect(await turns('a', async () => 'later')).toBe('later')
})
