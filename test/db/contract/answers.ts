/** What every engine promises about answers that are kept for repetitions. */
import { describe, expect, test } from 'vitest'
import {
  KEPT_MS,
  type KeptAnswer,
  MAX_ANSWER_BYTES,
  MAX_KEPT_BYTES,
  MAX_PIECE_BYTES,
} from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aRepeat, beginAnswer, findAnswer, keepAnswer } from '#test/support/keep-answer.ts'
import { aClaim, anAct, anActivity, anOwner, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'
import { readWhole } from './read-whole.ts'

/** Bytes that are nowhere the same, so that a piece in a wrong place shows. */
function distinctBytes(length: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(length)
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(body.subarray(at, at + 65_536))
  return body
}

/** An answer with its body as one word: a million bytes take an assertion seconds to compare. */
const brief = (answer: KeptAnswer | undefined | null) =>
  answer && { ...answer, body: `${answer.body.length} ${Bun.SHA256.hash(answer.body, 'hex')}` }

const RUNNING = { admitted: false, refusal: null, repetition: { is: 'running' } }
const OTHER_BODY = { admitted: false, refusal: null, repetition: { is: 'other_body' } }

export function answersContract(bench: Bench): void {
  const REPEAT = aRepeat('order 66 "quoted"')
  type Stated = Parameters<typeof keepAnswer>[3]
  const begin = (key: ApiKey, stated: Stated = {}) =>
    beginAnswer(bench.store, key, bench.clock.now(), { repeat: REPEAT, ...stated })
  const keep = (key: ApiKey, stated: Stated = {}) =>
    keepAnswer(bench.store, key, bench.clock.now(), { repeat: REPEAT, ...stated })
  const find = async (key: ApiKey, repeat = REPEAT) =>
    await readWhole(
      bench.store.answers,
      await findAnswer(bench.store, key, bench.clock.now(), repeat),
    )
  const repeat = (key: ApiKey, asked = REPEAT) =>
    bench.store.admissions.admit({ ...aClaim(key, bench.clock.now()), repeat: asked })
  const trim = (limit = 1_000) => bench.store.answers.trim(bench.clock.now(), limit)

  test.each([
    ['short', 40],
    ['empty', 0],
    ['of several pieces', 1_000_000],
    ['that fills its pieces', 1_048_576],
  ])('one that is %s is found as it was kept', async (_, length) => {
    const { key } = await bench.issue()
    const answer = await keep(key, { body: distinctBytes(length) })
    expect(answer).not.toBeNull()
    expect(brief(await find(key))).toEqual(brief(answer))
    await bench.restart()
    expect(brief(await find(key))).toEqual(brief(answer))
  })

  test('is read piece by piece, until it is removed', async () => {
    const { key } = await bench.issue()
    const { answers } = bench.store
    await keep(key, { body: distinctBytes(MAX_PIECE_BYTES + 1) })
    const found = await findAnswer(bench.store, key, bench.clock.now(), REPEAT)
    const id = found?.id ?? 0
    const lengthOf = async (place: number) => (await answers.piece(id, place))?.byteLength
    expect(found?.first.byteLength).toBeLessThanOrEqual(MAX_PIECE_BYTES)
    expect(await lengthOf(1)).toBe(1)
    expect(await lengthOf(2)).toBeUndefined()
    bench.clock.advance(KEPT_MS)
    await trim()
    expect([await lengthOf(0), await lengthOf(1)]).toEqual([undefined, undefined])
  })

  test('T6: is found under its own name alone, and by its own key', async () => {
    const { key: before } = await bench.issue()
    const { key } = await bench.issue()
    const { key: after } = await bench.issue()
    await keep(key)
    expect(await find(key)).toBeDefined()
    expect(await Promise.all([find(before), find(after)])).toEqual([undefined, undefined])
    for (const name of ['order 67', 'Order 66 "quoted"', 'order 66', '']) {
      expect(await find(key, aRepeat(name))).toBeUndefined()
    }
  })

  test('is found for a day; a later one takes its place', async () => {
    const { key } = await bench.issue()
    const answer = await keep(key, { body: distinctBytes(600_000) })
    bench.clock.advance(KEPT_MS - 1)
    expect(brief(await find(key))).toEqual(brief(answer))
    bench.clock.advance(1)
    expect(await find(key)).toBeUndefined()
    const other = aRepeat(REPEAT.key, 'cd'.repeat(32))
    const later = await keep(key, { repeat: other, body: distinctBytes(300_000) })
    expect(brief(await find(key, other))).toEqual(brief(later))
    await trim()
    expect(brief(await find(key, other))).toEqual(brief(later))
  })

  test('several are kept and read at the same time, none mixed with another', async () => {
    const { key } = await bench.issue()
    const names = Array.from({ length: 5 }, (_, n) => aRepeat(`n${n}`))
    const answers = await Promise.all(
      names.map((name, n) => keep(key, { repeat: name, body: distinctBytes(700_000 + n) })),
    )
    expect(answers).not.toContain(null)
    const found = await Promise.all(names.map((name) => find(key, name)))
    expect(found.map(brief)).toEqual(answers.map(brief))
  })

  describe('one that is staged', () => {
    test('is found once its admission is settled with it, and not before', async () => {
      const { key } = await bench.issue()
      const { answer, stage, end } = await begin(key, { body: distinctBytes(3_000_000) })
      const staging = stage()
      expect(await find(key)).toBeUndefined()
      const staged = await staging
      expect(await find(key)).toBeUndefined()
      expect(await trim()).toBe(0)
      expect(await end(staged)).toBe(true)
      expect(brief(await find(key))).toEqual(brief(answer))
      expect(await bench.store.ledger.list({ kind: 'charge', limit: 9 })).toHaveLength(1)
    })

    test('stays while the end of its admission is being written', async () => {
      const { key } = await bench.issue()
      // Whoever is not alone is written together with others.
      await repeat(key, aRepeat('another'))
      const { answer, stage, end } = await begin(key, { body: distinctBytes(600_000) })
      const ending = end(await stage())
      expect(await trim()).toBe(0)
      expect(await ending).toBe(true)
      expect(brief(await find(key))).toEqual(brief(answer))
    })

    test('is removed where its admission ended without it', async () => {
      const { key } = await bench.issue()
      const gone = anOwner()
      const [settled, expired] = [aRepeat('settled'), aRepeat('expired')]
      const without = await begin(key, { repeat: settled, body: distinctBytes(600_000) })
      await without.stage()
      await without.end(null)
      const claim = { ...aClaim(key, bench.clock.now()), owner: gone, repeat: expired }
      await bench.store.admissions.admit(claim)
      const { keyId, generationId, at: keptAt } = claim
      const rest = { contentType: 'text/plain', body: distinctBytes(9), keptAt }
      const staged = await bench.store.answers.stage({
        keyId,
        repeat: expired,
        generationId,
        ...rest,
      })
      await bench.store.admissions.expire([gone.epoch], bench.clock.now())
      expect(await find(key, settled)).toBeUndefined()
      // Too late: nobody pays for it, and nobody finds it.
      const late = { at: keptAt, charge: null, activity: anActivity(claim), answer: staged }
      expect(await bench.store.admissions.settle(generationId, late)).toBe(false)
      expect(await find(key, expired)).toBeUndefined()
      expect(await trim(1)).toBe(1)
      expect(await trim()).toBeGreaterThan(0)
      expect(await trim()).toBe(0)
    })

    if (bench.survives) {
      test('is not found after a kill, and its name is free', async () => {
        const { key } = await bench.issue()
        const kept = await keep(key, { repeat: aRepeat('kept') })
        const { stage, end } = await begin(key)
        const staged = await stage()
        await bench.restart()
        expect(await end(staged, bench.store)).toBe(false)
        expect(await find(key)).toBeUndefined()
        const again = await keep(key)
        expect(await trim()).toBeGreaterThan(0)
        expect(await trim()).toBe(0)
        expect(brief(await find(key))).toEqual(brief(again))
        expect(brief(await find(key, aRepeat('kept')))).toEqual(brief(kept))
      })
    }
  })

  describe('a request that repeats', () => {
    test('one in progress is told so, whatever its limits; another body is no repetition', async () => {
      const { key } = await bench.issue({ rpm: 1, concurrency: 1 })
      const { end } = await begin(key)
      expect(await repeat(key)).toEqual(RUNNING)
      expect(await repeat(key, aRepeat(REPEAT.key, 'cd'))).toEqual(OTHER_BODY)
      expect(await bench.store.answers.find(key.id, REPEAT, bench.clock.now())).toEqual({
        is: 'running',
      })
      const usage = await bench.store.admissions.usage(key.id, bench.clock.now())
      expect(usage).toMatchObject({ requestsInProgress: 1, requestsMinute: 1 })
      await end(null)
    })

    test('one that is kept gets its answer, whatever its limits; another body is no repetition', async () => {
      const { key } = await bench.issue({ rpm: 1 })
      const answer = await keep(key)
      const verdict = await repeat(key)
      expect(verdict).toMatchObject({
        admitted: false,
        refusal: null,
        repetition: { is: 'kept', answer: { generationId: answer?.generationId } },
      })
      expect(await repeat(key, aRepeat(REPEAT.key, 'cd'))).toEqual(OTHER_BODY)
      expect(await repeat(key, aRepeat('another'))).toMatchObject({
        refusal: { code: 'rate_limit_exceeded' },
      })
    })

    test('one that ended without an answer runs anew, and so does one that was refused', async () => {
      const { key } = await bench.issue({ dailySpend: usd('0') })
      expect(await repeat(key)).toMatchObject({ refusal: { code: 'daily_spend_limit_exceeded' } })
      await bench.store.keys.amend(key.id, { limits: { dailySpend: null } }, anAct())
      const { end } = await begin(key)
      await end(null)
      const other = await begin(key, { repeat: aRepeat(REPEAT.key, 'cd') })
      expect(await repeat(key)).toEqual(OTHER_BODY)
      await other.end(null)
    })

    test('one of another API key runs', async () => {
      const [{ key }, { key: other }] = [await bench.issue(), await bench.issue()]
      await begin(key)
      await keep(other)
      expect(await repeat(key)).toEqual(RUNNING)
    })

    test('one whose owner has ended runs anew', async () => {
      const { key } = await bench.issue()
      const owner = anOwner()
      const claim = { ...aClaim(key, bench.clock.now()), owner, repeat: REPEAT }
      await admitClaim(bench.store.admissions, claim)
      expect(await repeat(key)).toEqual(RUNNING)
      await bench.store.admissions.expire([anOwner().epoch], bench.clock.now())
      expect(await repeat(key)).toEqual(RUNNING)
      await bench.store.admissions.expire([owner.epoch], bench.clock.now())
      await keep(key)
      expect(await find(key)).toBeDefined()
    })

    test('one of many at once: one runs, by whichever owner', async () => {
      const { key } = await bench.issue()
      const owners = [anOwner(), anOwner()]
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, (_, n) => {
          const owner = owners[n % 2] ?? anOwner()
          const claim = { ...aClaim(key, bench.clock.now()), owner, repeat: REPEAT }
          return bench.store.admissions.admit(claim)
        }),
      )
      expect(verdicts[0]).toMatchObject({ admitted: true })
      expect(verdicts.slice(1)).toEqual(Array(19).fill(RUNNING))
    })
  })

  describe('bounds', () => {
    test('one that is too long is not kept', async () => {
      const { key } = await bench.issue()
      const body = new Uint8Array(MAX_ANSWER_BYTES + 1)
      expect(await keep(key, { body })).toBeNull()
      expect(await find(key)).toBeUndefined()
      expect(await keep(key)).not.toBeNull()
    })

    test('the oldest make room, as many as needed and no more', async () => {
      const { key } = await bench.issue()
      const longest = new Uint8Array(MAX_ANSWER_BYTES)
      const fitting = MAX_KEPT_BYTES / MAX_ANSWER_BYTES
      const keepAs = async (name: string, body: Uint8Array<ArrayBuffer>) =>
        (await keep(key, { repeat: aRepeat(name), body })) !== null
      const isKept = async (name: string) => (await find(key, aRepeat(name))) !== undefined
      for (let n = 0; n < fitting; n++) expect(await keepAs(`n${n}`, longest)).toBe(true)
      expect(await isKept('n0')).toBe(true)
      expect(await keepAs('one byte', new Uint8Array(1))).toBe(true)
      expect(await Promise.all(['n0', 'n1', 'one byte'].map(isKept))).toEqual([false, true, true])

      // There is room for all but that one byte.
      await bench.restart()
      expect(await keepAs('the rest', longest.subarray(1))).toBe(true)
      expect(await isKept('n1')).toBe(true)
      expect(await keepAs('one byte more', new Uint8Array(1))).toBe(true)
      const names = ['n1', 'n2', 'one byte', 'the rest', 'one byte more']
      expect(await Promise.all(names.map(isKept))).toEqual([false, true, true, true, true])
    })
  })
}
