/** What an operator is told of requests that the log no longer has: that they are gone, since when it is whole, and what the ledger knows. */
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, type Instant, later, renderInstant } from '#domain/clock.ts'
import { type GenerationId, newGenerationId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

let deps: TestOperatorDeps
let key: ApiKey
let charged: GenerationId
let refused: GenerationId
let since: Instant

/** Two requests that are gone, one that is not. */
beforeEach(async () => {
  deps = await openFurnished()
  const { store, clock } = deps
  const { keys } = await store.keys.list({ includeRevoked: false, limit: 1 })
  const [first] = keys
  if (!first) throw new Error('there is no key')
  key = first
  await act(deps, 'balance.top-up', { amount_usd: '10' })
  charged = await serve()
  const claim = aClaim(key, clock.now())
  refused = claim.generationId
  store.activity.note(anActivity(claim, { endedBy: 'refused', requestId: 'req_old' }))
  await store.activity.list({ limit: 1 })
  clock.advance(2 * DAY_MS)
  await serve()
  since = later(clock.now(), -DAY_MS)
})

async function serve(): Promise<GenerationId> {
  const { store, clock } = deps
  const { version: catalogue } = store.catalogue.current()
  const claim = { ...aClaim(key, clock.now()), catalogue }
  await admitClaim(store.admissions, claim)
  const charge = aCharge(usd('0.25'))
  const activity = anActivity(claim, { cost: charge.amount })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
  return claim.generationId
}

const trim = () => deps.store.activity.trim(since, 9)

const refusalOf = async (verb: 'activity.show' | 'why', id: string): Promise<string> => {
  const thrown = await act(deps, verb, { id }).catch((cause: unknown) => cause)
  expect(thrown).toMatchObject({ code: 'generation_not_found' })
  return (thrown as Error).message
}

describe.each(['activity.show', 'why'] as const)('%s', (verb) => {
  test('of what is gone names its charge, where it had one', async () => {
    await act(deps, verb, { id: charged })
    await trim()
    const gone = `what ended before ${renderInstant(since)} is no longer kept`
    expect(await refusalOf(verb, charged)).toBe(
      `no request is kept under "${charged}"\n${gone}\nthe ledger has its charge: led_${charged.slice(4)}, $0.25`,
    )
    expect(await refusalOf(verb, refused)).toBe(`no request is kept under "${refused}"\n${gone}`)
  })

  test('of what may never have been says what is known', async () => {
    const progress = 'one that is still in progress has no receipt yet'
    const id = newGenerationId(deps.clock.now())
    expect(await refusalOf(verb, id)).toBe(`no request is kept under "${id}"\n${progress}`)
    await trim()
    const gone = `what ended before ${renderInstant(since)} is no longer kept`
    for (const one of [id, 'req_old']) {
      expect(await refusalOf(verb, one)).toBe(
        `no request is kept under "${one}"\n${progress}\n${gone}`,
      )
    }
  })
})

test('a report tells from when on it is whole, where it was asked about a time before', async () => {
  const report = async (from: Instant | null) =>
    await act(deps, 'usage.report', { since: from === null ? null : renderInstant(from) })
  const kept = async (from: Instant | null) =>
    (await act(deps, 'activity.kept', { since: from === null ? null : renderInstant(from) }))
      .kept_since
  expect([(await report(null)).kept_since, await kept(null)]).toEqual([null, null])
  await trim()
  for (const from of [null, later(since, -1)]) {
    expect(await report(from)).toMatchObject({
      kept_since: renderInstant(since),
      total: { requests: 1 },
    })
    expect(await kept(from)).toBe(renderInstant(since))
  }
  expect([(await report(since)).kept_since, await kept(since)]).toEqual([null, null])
})

test('doctor tells it too', async () => {
  const told = async () =>
    (await act(deps, 'doctor', {})).findings.find(({ check }) => check === 'log')
  expect(await told()).toMatchObject({
    level: 'ok',
    message: expect.stringContaining('nothing has been removed'),
  })
  await trim()
  expect(await told()).toMatchObject({
    level: 'ok',
    message: expect.stringContaining(`complete since ${renderInstant(since)};`),
  })
})
