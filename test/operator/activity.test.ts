/** The log through its verbs: searched, a receipt shown whole, and prices compared with what providers state. */

import { beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import type { ApiKey } from '#domain/key.ts'
import { chargeFor } from '#domain/pricing.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
import { priceOf } from '#test/support/catalogue.ts'
import { aClaim, anAccount, anAct, anActivity, rate, usd } from '#test/support/nouns.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

let deps: TestOperatorDeps
let key: ApiKey

beforeEach(async () => {
  deps = await openFurnished()
  await act(deps, 'balance.top-up', { amount_usd: '10' })
  key = (await deps.store.keys.search('default', 1))[0] as ApiKey
})

/** A line of the log, a second after the one before. */
function note(stated: Partial<ActivityEntry> = {}): ActivityEntry {
  deps.clock.advance(1_000)
  const line = anActivity(aClaim(key, deps.clock.now()), { model: 'demo/echo', ...stated })
  deps.store.activity.note(line)
  return line
}

/** A request that was admitted, charged for 22 tokens in and 3 out, and logged. */
async function charged(stated: Partial<ActivityEntry> = {}): Promise<ActivityEntry> {
  deps.clock.advance(1_000)
  const { store, clock } = deps
  const catalogue = store.catalogue.current().version
  const claim = { ...aClaim(key, clock.now()), model: 'demo/echo', catalogue }
  const { admitted } = await admitClaim(store.admissions, claim)
  const version = priceOf(store, 'demo/echo', clock.now())
  if (!admitted || !version) throw new Error('it was not admitted')
  const usage = { ...NO_USAGE, inputTokens: 22, outputTokens: 3 }
  const charge = chargeFor(usage, version, rate('90'), 'provider', NO_CHOICE)
  const { amount: cost, costRub } = charge
  const settled = { usage, usageSource: 'provider', cost, costRub, provider: 'demo' } as const
  const activity = anActivity(claim, { ...settled, ...stated })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
  return activity
}

const NO_CHOICE = { resolution: undefined, quality: undefined }

describe('activity list', () => {
  const ids = async (input: Parameters<typeof act<'activity.list'>>[2]) =>
    (await act(deps, 'activity.list', input)).map(({ id }) => id)

  test('lists each entry with the name of its key, newest first', async () => {
    const refused = note({ status: 429, code: 'rate_limit_exceeded', endedBy: 'refused' })
    const served = await charged({ endUser: 'u_1', totalMs: 900 })
    const [newest, oldest] = await act(deps, 'activity.list', {})
    expect(newest).toEqual({
      id: served.generationId,
      request_id: 'req_1',
      created_at: '2026-08-23T12:00:02Z',
      account_id: key.accountId,
      key_id: key.id,
      key_name: 'default',
      user: 'u_1',
      surface: 'chat',
      session: null,
      node: null,
      model: 'demo/echo',
      provider: 'demo',
      credential: null,
      stream: false,
      status: 200,
      code: null,
      ended_by: 'completed',
      finish_reason: 'stop',
      prompt_tokens: 22,
      completion_tokens: 3,
      images: 0,
      usage_source: 'provider',
      cost_usd: '0.000028',
      cost_rub: 0.00252,
      held_usd: null,
      beyond_hold: false,
      failed_attempts: 0,
      queued_ms: 0,
      first_byte_ms: 12,
      total_ms: 900,
    })
    expect(oldest).toMatchObject({ id: refused.generationId, code: 'rate_limit_exceeded' })
  })

  test('is narrowed by what an operator types', async () => {
    const old = note({ totalMs: 10_000 })
    const limited = note({ status: 429, code: 'rate_limit_exceeded', endedBy: 'refused' })
    const broken = note({ status: 502, endedBy: 'upstream', provider: 'spare', model: 'spare/m' })
    const [a, b, c] = [old, limited, broken].map(({ generationId }) => generationId)
    expect(await ids({ status: '4xx' })).toEqual([b])
    expect(await ids({ status: '502' })).toEqual([c])
    expect(await ids({ status: '503' })).toEqual([])
    expect(await ids({ errors: true })).toEqual([c, b])
    expect(await ids({ least_total_ms: 10_000 })).toEqual([a])
    expect(await ids({ model: 'spare/m' })).toEqual([c])
    expect(await ids({ provider: 'spare' })).toEqual([c])
    expect(await ids({ since: '2026-08-23T12:00:02Z' })).toEqual([c, b])
    expect(await ids({ until: '2026-08-23T12:00:02Z' })).toEqual([a])
    expect(await ids({ key: 'default', limit: 1 })).toEqual([c])
    await act(deps, 'keys.create', { name: 'idle' })
    expect(await ids({ key: 'idle' })).toEqual([])
  })

  test('knows accounts by name, and shows all of them unless one is named', async () => {
    await deps.store.accounts.create(anAccount({ id: 'acct_other', name: 'other' }), anAct())
    const ours = note()
    const theirs = note({ accountId: 'acct_other' })
    expect(await ids({})).toEqual([theirs.generationId, ours.generationId])
    expect(await ids({ account: 'other' })).toEqual([theirs.generationId])
    await expect(ids({ account: 'nobody' })).rejects.toMatchObject({ code: 'account_not_found' })
    await expect(ids({ key: 'nobody' })).rejects.toMatchObject({ code: 'key_not_found' })
  })

  test.each([
    { status: '9xx' },
    { status: 'x4x' },
    { status: '42' },
    { status: '' },
    { least_total_ms: -1 },
    { limit: 0 },
    { since: 'yesterday' },
    { colour: 'red' },
  ])('refuses %j', async (input) => {
    await expect(ids(input as object)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('activity show', () => {
  const show = (id: string) => act(deps, 'activity.show', { id })

  test('is the receipt, with the costs that the key’s holder does not see', async () => {
    const attempt = {
      model: 'demo/echo',
      provider: 'spare',
      outcome: 'unauthorized',
      status: 402,
      reason: 'no money left',
      ms: 7,
      operatorCost: usd('0.002'),
    } as const
    const { generationId } = await charged({
      failedAttempts: [attempt],
      statedCost: usd('0.000035'),
      totalMs: 30,
    })
    expect(await show(generationId)).toMatchObject({
      object: 'generation',
      id: generationId,
      account_id: key.accountId,
      key_name: 'default',
      cost_usd: '0.000028',
      lines: [
        { class: 'input_tokens', count: 22, amount_usd: '0.000022' },
        { class: 'output_tokens', count: 3, amount_usd: '0.000006' },
      ],
      attempts: [
        {
          provider: 'spare',
          outcome: 'unauthorized',
          status: 402,
          reason: 'no money left',
          ms: 7,
          operator_cost_usd: '0.002',
        },
        { provider: 'demo', outcome: 'answered', reason: null, ms: 23, operator_cost_usd: '0' },
      ],
      operator_cost_usd: '0.002',
      stated_cost_usd: '0.000035',
      stated_difference_usd: '0.000007',
      stated_difference_percent: 25,
    })
  })

  test('finds a request by the name its client gave it, if only one has it', async () => {
    const first = note({ requestId: 'mine' })
    expect(await show('mine')).toMatchObject({ id: first.generationId, stated_cost_usd: null })
    const second = note({ requestId: 'mine' })
    const several = show('mine')
    await expect(several).rejects.toMatchObject({ code: 'generation_not_found', status: 404 })
    await expect(several).rejects.toThrow(
      `${second.generationId} (2026-08-23T12:00:02Z, 200, demo/echo)\n${first.generationId}`,
    )
    expect(await show(second.generationId)).toMatchObject({ id: second.generationId })
  })

  test('takes the end of an id, as lists show it, and lists those that end alike', async () => {
    const one = note({ generationId: `gen-${'0'.repeat(19)}1xxn890` })
    const end = 'xxn890'
    const forms = [end, `…${end}`, `gen-…${end}`, `gen-...${end}`, `gen-${end}`, `1${end}`]
    for (const form of forms) expect(await show(form)).toMatchObject({ id: one.generationId })
    for (const none of ['xn890', 'gen-…xxn891', '…gen-xxn890', '%xxn890', 'key_…xxn890'])
      await expect(show(none)).rejects.toMatchObject({ code: 'generation_not_found' })

    const other = note({ generationId: `gen-${'0'.repeat(19)}2xxn890` })
    await expect(show(`gen-…${end}`)).rejects.toThrow(
      `several requests have an id that ends in "xxn890"\n${other.generationId} (`,
    )
    expect(await show(`2${end}`)).toMatchObject({ id: other.generationId })
    // Whoever sent it chose that name: it goes before the end of an id.
    const named = note({ requestId: end })
    expect(await show(end)).toMatchObject({ id: named.generationId })
  })

  test('a name may look like a generation’s', async () => {
    const named = note({ requestId: `gen-${'0'.repeat(26)}` })
    expect(await show(named.requestId)).toMatchObject({ id: named.generationId })
  })

  test('says so where nothing is kept', async () => {
    await expect(show('gen-none')).rejects.toMatchObject({
      code: 'generation_not_found',
      details: { hint: 'gatewayctl activity list' },
    })
  })
})

describe('usage drift', () => {
  const drift = (since?: string) => act(deps, 'usage.drift', since ? { since } : {})
  const stated = (model: string, cost: string, theirs: string | null) =>
    note({
      model,
      usageSource: 'provider',
      cost: usd(cost),
      statedCost: theirs === null ? null : usd(theirs),
    })

  test('is told by model, the largest difference first, either way', async () => {
    stated('acme/right', '1', '1')
    stated('acme/cheap', '2', '1.5')
    stated('acme/dear', '0.3', '0.4')
    stated('acme/dear', '0.3', '0.3')
    stated('acme/dear', '5', null)
    stated('acme/free', '0', '0.01')
    expect(await drift()).toEqual([
      of('acme/cheap', 1, '2.00', '1.50', '-0.50', -25),
      of('acme/dear', 2, '0.60', '0.70', '0.10', 16.67),
      of('acme/free', 1, '0', '0.01', '0.01', null),
      of('acme/right', 1, '1.00', '1.00', '0', 0),
    ])
    expect((await drift('2026-08-23T12:00:06Z')).map(({ model }) => model)).toEqual(['acme/free'])
    expect(await drift('2027-01-01T00:00:00Z')).toEqual([])
  })
})

const of = (
  model: string,
  requests: number,
  charged_usd: string,
  stated_usd: string,
  difference_usd: string,
  difference_percent: number | null,
) => ({ model, requests, charged_usd, stated_usd, difference_usd, difference_percent })
