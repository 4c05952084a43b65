/** Every recorded exchange, through the shipped program to the stock client: its words, its tool calls, its error, its price. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Recording, readRecording, recordings } from '#test/support/replay.ts'
import { FULL } from '#test/support/tier.ts'
import {
  expectAnswer,
  expectBroken,
  expectNothingLeft,
  expectRefused,
  expectWholeError,
  type Judged,
} from './recordings/expect.ts'
import { type Case, openReplayGateway, type ReplayGateway } from './recordings/replay-gateway.ts'
import { bytesOf, draws, truthOf } from './recordings/truth.ts'

const DRESSES = FULL ? ['', 'split=1', 'crlf'] : ['']
/** Without a pause between them the line puts bytes together again; with one, every character is really cut. */
const SLOW = 'split=1,gap=1'
const MAX_SLOW_BYTES = 4_096
const SLOW_OF_EACH_FAMILY = FULL ? 2 : 1
/** Seconds where nothing else runs; a machine that is busy elsewhere takes its time. */
const MAX_MS = 240_000

const caseOf = (recording: Recording, dress: string, provider: string): Case => {
  const truth = truthOf(recording)
  const isByPiece = draws(recording) && dress === ''
  return { recording, dress, provider, isByPiece, truth }
}

const all = recordings()
const fast = all.flatMap((recording, place) =>
  DRESSES.map((dress, at) => caseOf(recording, dress, `r${place}-${at}`)),
)
const slow = Object.values(Object.groupBy(all, ({ family }) => family))
  .flatMap((family = []) =>
    family
      // An error's words are not waited for.
      .filter(({ status }) => status === 200)
      .map((recording) => ({ recording, bytes: bytesOf(readRecording(recording.name)) }))
      .filter(({ bytes }) => bytes.length <= MAX_SLOW_BYTES)
      .map(({ recording, bytes }) => ({ recording, merit: meritOf(recording, bytes) }))
      .sort((one, other) => other.merit - one.merit)
      .slice(0, SLOW_OF_EACH_FAMILY),
  )
  .map(({ recording }, place) => caseOf(recording, SLOW, `slow${place}`))
const cases = [...fast, ...slow]

/** Characters of several bytes first, then streams. */
function meritOf({ stream }: Recording, bytes: Buffer): number {
  const isWide = bytes.length > bytes.toString('utf8').length
  return (isWide ? 2 : 0) + (stream ? 1 : 0)
}

let setup: ReplayGateway | undefined
let charges: ReadonlyMap<string, readonly bigint[]> = new Map()

beforeAll(async () => {
  setup = await openReplayGateway(cases)
  if (!setup) return
  await Promise.all([setup.askAll(fast, 16), setup.askAll(slow, slow.length)])
  charges = await setup.charges()
}, MAX_MS)
afterAll(() => setup?.close())

const judge = (one: Case): Judged => {
  if (!setup) throw new Error('the gateway was not started')
  const seen = setup.seen(one)
  const charged = charges.get(seen.generation) ?? []
  return { one, seen, setup, charged, where: `${one.recording.name} ~${one.dress}` }
}
const named = (list: readonly Case[]) =>
  list.map((one) => [`${one.recording.name} ~${one.dress}`, one] as const)

describe.skipIf(all.length === 0)('recorded traffic', () => {
  const good = cases.filter(({ truth }) => truth.failure === null)
  const failed = cases.filter(({ truth }) => truth.failure !== null)

  test('is all there', () => {
    expect(new Set(fast.map(({ recording }) => recording.name)).size).toBe(104)
    expect(new Set(slow.map(({ recording }) => recording.family)).size).toBe(10)
  })

  test.each(named(good))('%s reaches the client whole, at its price', (_, one) => {
    expectAnswer(judge(one))
  })

  test.each(named(failed.filter(({ truth }) => !truth.isCharged)))(
    '%s is the typed error of the contract, and costs nothing',
    (_, one) => {
      const judged = judge(one)
      expect(judged.seen.error.status).toBeGreaterThanOrEqual(400)
      expectRefused(judged)
      expectWholeError(judged)
    },
  )

  test.each(named(failed.filter(({ truth }) => truth.isCharged)))(
    '%s breaks in the reader, and what came is charged',
    (_, one) => expectBroken(judge(one)),
  )

  test('nothing else was charged, nothing is held, and the balance is the sum', async () => {
    if (!setup) throw new Error('the gateway was not started')
    await expectNothingLeft(setup, cases, charges)
  })
})
