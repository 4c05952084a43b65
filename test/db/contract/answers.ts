/** What every engine promises about kept answers. */
import { describe, expect, test } from 'vitest'
import { newGenerationId } from '#domain/id.ts'
import {
  KEPT_MS,
  type KeptAnswer,
  MAX_ANSWER_BYTES,
  MAX_KEPT_BYTES,
  MAX_PIECE_BYTES,
} from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Bench } from './bench.ts'
import { readWhole } from './read-whole.ts'

/** Bytes that are nowhere the same, so that a piece in a wrong place shows. */
function distinctBytes(length: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(length)
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(body.subarray(at, at + 65_536))
  return body
}

/** An answer with its body as one word: a million bytes take an assertion seconds to compare. */
const brief = (answer: KeptAnswer | undefined) =>
  answer && { ...answer, body: `${answer.body.length} ${Bun.SHA256.hash(answer.body, 'hex')}` }

export function answersContract(bench: Bench): void {
  const anAnswer = (key: ApiKey, stated: Partial<KeptAnswer> = {}): KeptAnswer => ({
    keyId: key.id,
    idempotencyKey: 'order 66 "quoted"',
    bodySha256: 'ab'.repeat(32),
    generationId: newGenerationId(bench.clock.now()),
    contentType: 'text/event-stream; charset=utf-8',
    body: new TextEncoder().encode('data: {"text":"Grüße \u0000"}\n\n'),
    keptAt: bench.clock.now(),
    ...stated,
  })
  const find = async (key: ApiKey, idempotencyKey = 'order 66 "quoted"') =>
    await readWhole(
      bench.store.answers,
      await bench.store.answers.find(key.id, idempotencyKey, bench.clock.now()),
    )

  test.each([
    ['short', 40],
    ['empty', 0],
    ['of several pieces', 1_000_000],
    ['that fills its pieces', 1_048_576],
  ])('one that is %s is found as it was kept', async (_, length) => {
    const { key } = await bench.issue()
    const answer = anAnswer(key, { body: distinctBytes(length) })
    expect(await bench.store.answers.keep(answer)).toBe(true)
    expect(brief(await find(key))).toEqual(brief(answer))
    await bench.restart()
    expect(brief(await find(key))).toEqual(brief(answer))
  })

  test('is read piece by piece, until it is replaced', async () => {
    const { key } = await bench.issue()
    const { answers } = bench.store
    await answers.keep(anAnswer(key, { body: distinctBytes(MAX_PIECE_BYTES + 1) }))
    const found = await answers.find(key.id, anAnswer(key).idempotencyKey, bench.clock.now())
    const id = found?.id ?? 0
    const lengthOf = async (place: number) => (await answers.piece(id, place))?.byteLength
    expect(found?.first.byteLength).toBeLessThanOrEqual(MAX_PIECE_BYTES)
    expect(await lengthOf(1)).toBe(1)
    expect(await lengthOf(2)).toBeUndefined()
    await answers.keep(anAnswer(key))
    expect([await lengthOf(0), await lengthOf(1)]).toEqual([undefined, undefined])
  })

  test('T6: is found under its own name alone, and by its own key', async () => {
    const { key: before } = await bench.issue()
    const { key } = await bench.issue()
    const { key: after } = await bench.issue()
    await bench.store.answers.keep(anAnswer(key))
    expect(await find(key)).toBeDefined()
    expect(await Promise.all([find(before), find(after)])).toEqual([undefined, undefined])
    for (const name of ['order 67', 'Order 66 "quoted"', 'order 66', '']) {
      expect(await find(key, name)).toBeUndefined()
    }
  })

  test('is found for a day', async () => {
    const { key } = await bench.issue()
    const answer = anAnswer(key)
    await bench.store.answers.keep(answer)
    bench.clock.advance(KEPT_MS - 1)
    expect(brief(await find(key))).toEqual(brief(answer))
    bench.clock.advance(1)
    expect(await find(key)).toBeUndefined()
  })

  test('a later one takes the place of an earlier', async () => {
    const { key } = await bench.issue()
    await bench.store.answers.keep(anAnswer(key, { body: distinctBytes(600_000) }))
    const later = anAnswer(key, { bodySha256: 'cd'.repeat(32), body: distinctBytes(300_000) })
    expect(await bench.store.answers.keep(later)).toBe(true)
    expect(brief(await find(key))).toEqual(brief(later))
  })

  test('several are kept and read at the same time, none mixed with another', async () => {
    const { key } = await bench.issue()
    const answers = Array.from({ length: 5 }, (_, n) =>
      anAnswer(key, { idempotencyKey: `n${n}`, body: distinctBytes(700_000 + n) }),
    )
    const { keep } = bench.store.answers
    expect(await Promise.all(answers.map((answer) => keep(answer)))).not.toContain(false)
    const found = await Promise.all(answers.map((answer) => find(key, answer.idempotencyKey)))
    expect(found.map(brief)).toEqual(answers.map(brief))
  })

  test('one that is being written is not found', async () => {
    const { key } = await bench.issue()
    const answer = anAnswer(key, { body: distinctBytes(3_000_000) })
    const keeping = bench.store.answers.keep(answer)
    expect(await find(key)).toBeUndefined()
    await keeping
    expect(brief(await find(key))).toEqual(brief(answer))
  })

  describe('one that has yet to be paid for', () => {
    test('is written before it is, and found after it', async () => {
      const { key } = await bench.issue()
      const answer = anAnswer(key, { body: distinctBytes(600_000) })
      const asked = Promise.withResolvers<void>()
      const paid = Promise.withResolvers<boolean>()
      const keeping = bench.store.answers.keep(answer, () => {
        asked.resolve()
        return paid.promise
      })
      await asked.promise
      expect(await find(key)).toBeUndefined()
      paid.resolve(true)
      expect(await keeping).toBe(true)
      expect(brief(await find(key))).toEqual(brief(answer))
    })

    test('is not kept when it is not paid, and replaces no other answer', async () => {
      const { key } = await bench.issue()
      const before = anAnswer(key)
      await bench.store.answers.keep(before)
      const { keep } = bench.store.answers
      const other = () => anAnswer(key, { bodySha256: 'cd'.repeat(32) })
      expect(await keep(other(), async () => false)).toBe(false)
      const failing = keep(other(), () => Promise.reject(new RangeError('no money')))
      await expect(failing).rejects.toThrow(RangeError)
      expect(brief(await find(key))).toEqual(brief(before))
    })
  })

  describe('bounds', () => {
    test('one that is too long is not kept, and replaces no other answer', async () => {
      const { key } = await bench.issue()
      const before = anAnswer(key)
      await bench.store.answers.keep(before)
      const body = new Uint8Array(MAX_ANSWER_BYTES + 1)
      expect(await bench.store.answers.keep(anAnswer(key, { body }))).toBe(false)
      expect(brief(await find(key))).toEqual(brief(before))
    })

    test('the oldest make room, as many as needed and no more', async () => {
      const { key } = await bench.issue()
      const longest = new Uint8Array(MAX_ANSWER_BYTES)
      const fitting = MAX_KEPT_BYTES / MAX_ANSWER_BYTES
      const keep = (idempotencyKey: string, body: Uint8Array<ArrayBuffer>) =>
        bench.store.answers.keep(anAnswer(key, { idempotencyKey, body }))
      const isKept = async (name: string) => (await find(key, name)) !== undefined
      for (let n = 0; n < fitting; n++) expect(await keep(`n${n}`, longest)).toBe(true)
      expect(await isKept('n0')).toBe(true)
      expect(await keep('one byte', new Uint8Array(1))).toBe(true)
      expect(await Promise.all(['n0', 'n1', 'one byte'].map(isKept))).toEqual([false, true, true])

      // There is room for all but that one byte.
      await bench.restart()
      expect(await keep('the rest', longest.subarray(1))).toBe(true)
      expect(await isKept('n1')).toBe(true)
      expect(await keep('one byte more', new Uint8Array(1))).toBe(true)
      const names = ['n1', 'n2', 'one byte', 'the rest', 'one byte more']
      expect(await Promise.all(names.map(isKept))).toEqual([false, true, true, true, true])
    })
  })
}
