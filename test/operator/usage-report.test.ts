/** The usage report through its verb: groups by name, shares of the whole, time in its order. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import { DAY_MS, instant } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY } from '#domain/money.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

let deps: TestOperatorDeps

beforeEach(async () => {
  deps = await openFurnished()
  await act(deps, 'balance.top-up', { amount_usd: '100' })
  await act(deps, 'keys.create', { name: 'batch' })
})

const find = async (name: string): Promise<ApiKey> =>
  (await deps.store.keys.search(name, 1))[0] as ApiKey

const USAGE = { ...NO_USAGE, inputTokens: 22, outputTokens: 3 }

async function serve(name: string, cost: string, stated: Partial<ActivityEntry> = {}) {
  const { store, clock } = deps
  const { version: catalogue } = store.catalogue.current()
  const claim = { ...aClaim(await find(name), clock.now(), NO_MONEY), catalogue }
  await admitClaim(store.admissions, claim)
  const charge = aCharge(usd(cost))
  const { amount, costRub } = charge
  const activity = anActivity(claim, { usage: USAGE, cost: amount, costRub, ...stated })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
}

const report = (input: Parameters<typeof act<'usage.report'>>[2] = {}) =>
  act(deps, 'usage.report', input)

test('nothing was used', async () => {
  const nothing = {
    requests: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    images: 0,
    cost_usd: '0',
    cost_rub: 0,
    share_percent: null,
  }
  expect(await report()).toEqual({
    by: 'key',
    then_by: null,
    account: null,
    since: null,
    until: null,
    kept_since: null,
    rows: [],
    other: { groups: 0, ...nothing },
    total: nothing,
  })
})

describe('a report', () => {
  beforeEach(async () => {
    await serve('default', '1', { model: 'a/x', endUser: 'ann' })
    await serve('batch', '4', { model: 'a/y', endUser: 'bob' })
    deps.clock.advance(DAY_MS)
    await serve('default', '1.5', { model: 'a/y' })
    await serve('default', '0.5', { model: 'a/x', endUser: 'ann' })
  })

  test('by key names it, the most expensive first, with its share', async () => {
    const [batch, worker] = [await find('batch'), await find('default')]
    expect(await report()).toMatchObject({
      rows: [
        {
          key_id: batch.id,
          key_name: 'batch',
          requests: 1,
          prompt_tokens: 22,
          completion_tokens: 3,
          images: 0,
          cost_usd: '4.00',
          cost_rub: 360,
          share_percent: 57.14,
        },
        { key_id: worker.id, key_name: 'default', requests: 3, share_percent: 42.86 },
      ],
      other: { groups: 0, requests: 0, share_percent: 0 },
      total: { requests: 4, cost_usd: '7.00', cost_rub: 630, share_percent: 100 },
    })
  })

  test('cut to the most expensive sums up the others', async () => {
    expect(await report({ by: 'user', top: 1 })).toMatchObject({
      rows: [{ user: 'bob', cost_usd: '4.00' }],
      other: { groups: 2, requests: 3, cost_usd: '3.00', share_percent: 42.86 },
      total: { cost_usd: '7.00' },
    })
    expect((await report({ by: 'user' })).rows.map(({ user }) => user)).toEqual([
      'bob',
      'ann',
      null,
    ])
  })

  test('days run forward, and what is split by them stays together', async () => {
    expect((await report({ by: 'day', then_by: 'model' })).rows).toMatchObject([
      { day: '2026-08-23', model: 'a/y', cost_usd: '4.00' },
      { day: '2026-08-23', model: 'a/x', cost_usd: '1.00' },
      { day: '2026-08-24', model: 'a/y', cost_usd: '1.50' },
      { day: '2026-08-24', model: 'a/x', cost_usd: '0.50' },
    ])
    expect((await report({ by: 'key', then_by: 'hour' })).rows).toMatchObject([
      { key_name: 'batch', hour: '2026-08-23T12:00:00Z' },
      { key_name: 'default', hour: '2026-08-23T12:00:00Z', cost_usd: '1.00' },
      { key_name: 'default', hour: '2026-08-24T12:00:00Z', cost_usd: '2.00' },
    ])
  })

  test('the sums of days say the same of keys and whole days, where the log has all of them', async () => {
    const within = { since: '2026-08-01T00:00:00Z', until: '2026-09-01T00:00:00Z' }
    const sums = (of: object = {}) =>
      act(deps, 'usage.sums', { ...within, top: 1, drawn: 1, ...of })
    expect(await report({ ...within, top: 1 })).toMatchObject((await sums())?.keys ?? {})
    expect(await report({ ...within, by: 'day' })).toMatchObject((await sums())?.days ?? {})
    const among = [(await find('batch')).id]
    const { rows } = await report({ ...within, by: 'day', then_by: 'key', among })
    expect(rows).toHaveLength(1)
    expect(rows).toMatchObject((await sums())?.split.rows ?? [])
    expect((await sums({ drawn: 9 }))?.split.rows).toHaveLength(3)
    expect((await sums({ since: '2026-08-24T00:00:00Z' }))?.keys.total).toMatchObject({
      requests: 2,
      cost_usd: '2.00',
    })
    // Of a part of a day they say nothing, nor of days that the log has no more.
    expect(await sums({ until: '2026-08-24T12:00:00Z' })).toBeNull()
    await deps.store.activity.trim(instant(Date.parse('2026-08-24T00:00:00Z')), 9)
    expect(await sums()).toBeNull()
    expect(await sums({ since: '2026-08-25T00:00:00Z' })).not.toBeNull()
  })

  test('of a time, and of an account', async () => {
    const total = async (input: object) => (await report(input)).total.cost_usd
    expect(await total({ since: '2026-08-24T00:00:00Z' })).toBe('2.00')
    expect(await total({ until: '2026-08-24T00:00:00Z' })).toBe('5.00')
    await deps.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    expect(await total({ account: 'other' })).toBe('0')
    expect(await total({ account: 'default' })).toBe('7.00')
    await expect(report({ account: 'nobody' })).rejects.toMatchObject({ code: 'account_not_found' })
  })

  test('by user has a row for each account, because a user is of one', async () => {
    await deps.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    await act(deps, 'balance.top-up', { amount_usd: '100', account: 'other' })
    await act(deps, 'keys.create', { name: 'theirs', account: 'other' })
    await serve('theirs', '0.25', { endUser: 'ann' })
    expect(await report({ by: 'user' })).toMatchObject({
      then_by: 'account',
      rows: [
        { user: 'bob', account: 'default', cost_usd: '4.00' },
        { user: 'ann', account: 'default', cost_usd: '1.50' },
        { user: null, account: 'default', cost_usd: '1.50' },
        { user: 'ann', account: 'other', cost_usd: '0.25' },
      ],
    })
    expect((await report({ by: 'user', account: 'other' })).then_by).toBeNull()
  })

  test('a key that was moved stands in each account with what it spent there', async () => {
    await deps.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    await act(deps, 'balance.top-up', { amount_usd: '100', account: 'other' })
    await act(deps, 'keys.create', { name: 'moving' })
    await serve('moving', '0.50')
    await act(deps, 'accounts.move-key', { key: 'moving', to: 'other' })
    await serve('moving', '0.25')
    const spent = async (by: 'account' | 'key', then_by: 'account' | 'key') =>
      (await report({ by, then_by })).rows
        .filter(({ key_name }) => key_name === 'moving')
        .map(({ account, cost_usd }) => [account, cost_usd])
    const each = [
      ['default', '0.50'],
      ['other', '0.25'],
    ]
    expect(await spent('account', 'key')).toEqual(each)
    expect(await spent('key', 'account')).toEqual(each)
    const accounts = (await report({ by: 'account' })).rows
    expect(accounts).toMatchObject([{ cost_usd: '7.50' }, { account: 'other', cost_usd: '0.25' }])
  })

  test('a month’s whole is what the ceilings reckon with', async () => {
    const { month } = await deps.store.admissions.spend(deps.clock.now())
    const { total } = await report({ since: '2026-08-01T00:00:00Z' })
    expect(usd(total.cost_usd)).toBe(month)
  })

  test.each([
    { by: 'colour' },
    { by: 'key', then_by: 'key' },
    { top: 0 },
    { top: 10_001 },
    { since: 'yesterday' },
  ])('refuses %j', async (input) => {
    await expect(report(input as object)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
