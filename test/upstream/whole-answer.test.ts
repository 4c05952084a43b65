// The bodies of provider responses, assembled from pieces of any size.
import { expect, test } from 'vitest'
import type { Answer } from '#upstream/watchdog.ts'
import { Watchdog } from '#upstream/watchdog.ts'
import { readErrorText, readWhole } from '#upstream/whole-answer.ts'
import { call } from './fixtures.ts'

/** A provider response without time-outs. */
function answer(pieces: readonly (string | Uint8Array)[]): Answer {
  const left = pieces.map((piece) => Buffer.from(piece))
  return {
    reply: {
      status: 200,
      headers: new Headers(),
      read: async () => {
        const value = left.shift()
        return value === undefined ? { done: true } : { done: false, value }
      },
    },
    watchdog: new Watchdog(call()),
  }
}

const cut = (text: string, size: number): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  )

const readBody = async (from: Parameters<typeof readWhole>[0]) => (await readWhole(from))[0]

test('responses that end at the same moment do not get mixed up', async () => {
  const bodies = Array.from({ length: 20 }, (_, n) => ({ n, text: `${n} `.repeat(1_000 * n) }))
  for (const size of [1_000_000, 4_000, 700]) {
    const read = bodies.map((body) => readBody(answer(cut(JSON.stringify(body), size))))
    expect(await Promise.all(read)).toEqual(bodies)
    const errors = bodies.map(({ text }) => readErrorText(answer(cut(text, size))))
    expect(await Promise.all(errors)).toEqual(bodies.map(({ text }) => text))
  }
})

test.each([1, 7, 65_536, 9_000_000])('a body in pieces of %i bytes is read whole', async (size) => {
  const text = 'a'.repeat(size === 9_000_000 ? 20_000_000 : 3_000 * Math.min(size, 2_000))
  expect((await readBody(answer(cut(JSON.stringify(text), size)))) === text).toBe(true)
})

test('an empty body is a failure, and a body that is not JSON is undefined', async () => {
  for (const pieces of [[], [''], ['', '']]) {
    await expect(readBody(answer(pieces))).rejects.toMatchObject({
      kind: 'failed',
      message: 'its answer is empty',
    })
  }
  expect(await readBody(answer(['{"a"', ':']))).toBeUndefined()
})

test('the text of a body is kept where it is asked for, however it comes', async () => {
  const text = '{ "a" : 1.50,\n"b":"é"}'
  for (const size of [1, 3, 100]) {
    expect(await readWhole(answer(cut(text, size)), true)).toEqual([{ a: 1.5, b: 'é' }, text])
  }
  expect((await readWhole(answer([text])))[1]).toBe('')
})
