/** Every recorded exchange, its line cut at random bytes: an error and no charge, or what came, the error, and its price. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRecording, recordings } from '#test/support/replay.ts'
import { FULL } from '#test/support/tier.ts'
import {
  expectAnswer,
  expectBroken,
  expectNothingLeft,
  expectRefused,
  type Judged,
} from './recordings/expect.ts'
import { type Case, openReplayGateway, type ReplayGateway } from './recordings/replay-gateway.ts'
import { bytesOf, draws, truthOf } from './recordings/truth.ts'

const SEED = Number(process.env['SEED'] ?? 20_260_824)
const CUTS = FULL ? 10 : 2
/** Seconds where nothing else runs; a machine that is busy elsewhere takes its time. */
const MAX_MS = 240_000

/** mulberry32: the same cuts again from the same seed. */
let state = SEED
function random(): number {
  state = (state + 0x6d_2b_79_f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

interface Cut extends Case {
  readonly where: string
}

const all = recordings()
const cuts = new Map<string, readonly Cut[]>(
  all.map((recording, place) => {
    const { length } = bytesOf(readRecording(recording.name))
    const cutAt = (_: unknown, tenth: number): Cut => {
      // One in each tenth of it, and the last may be behind its last byte, where only the end of the body is missing.
      const at = Math.min(length, Math.floor(((tenth + random()) * (length + 1)) / CUTS))
      return {
        recording,
        dress: `cut=${at}`,
        provider: `c${place}-${tenth}`,
        isByPiece: draws(recording) && tenth % 2 === 0,
        truth: truthOf(recording, at),
        where: `${recording.name} cut at byte ${at} of ${length} (SEED=${SEED} repeats it)`,
      }
    }
    return [recording.name, Array.from({ length: CUTS }, cutAt)]
  }),
)
const cases = [...cuts.values()].flat()

let setup: ReplayGateway | undefined
let charges: ReadonlyMap<string, readonly bigint[]> = new Map()

beforeAll(async () => {
  setup = await openReplayGateway(cases)
  if (!setup) return
  await setup.askAll(cases, 32)
  charges = await setup.charges()
}, MAX_MS)
afterAll(() => setup?.close())

const judge = (one: Cut): Judged => {
  if (!setup) throw new Error('the gateway was not started')
  const seen = setup.seen(one)
  return { one, seen, setup, charged: charges.get(seen.generation) ?? [], where: one.where }
}

describe.skipIf(all.length === 0)('a line that breaks', () => {
  test('does so in every recording, with every outcome', () => {
    expect(cuts.size).toBe(104)
    expect(cases).toHaveLength(104 * CUTS)
    const outcomes = cases.map(
      ({ truth: { failure, isCharged } }) => `${failure === null} ${isCharged}`,
    )
    expect(new Set(outcomes)).toEqual(new Set(['true true', 'false true', 'false false']))
  })

  test.each([...cuts])('%s', (_, list) => {
    for (const one of list) {
      const { failure, isCharged } = one.truth
      if (failure === null) expectAnswer(judge(one))
      else if (isCharged) expectBroken(judge(one))
      else expectRefused(judge(one))
    }
  })

  test('nothing else was charged, nothing is held, and the balance is the sum', async () => {
    if (!setup) throw new Error('the gateway was not started')
    await expectNothingLeft(setup, cases, charges)
  })
})
