/** Several accounts: each with its own money, keys and threshold, and the default one where none is named. */

import { expect, test } from 'vitest'
import { draftAccount } from '#domain/account.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_LIMITS, renderAccountLimits } from '#domain/limits.ts'
import { openSnapshots } from '#operator/snapshot/reader.ts'
import { aCharge, aClaim, anAct, anActivity, usd } from '#test/support/nouns.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { act, openFurnished, serving, type TestOperatorDeps } from './deps.ts'

const openTwo = async (): Promise<TestOperatorDeps> => {
  const deps = await openFurnished()
  await act(deps, 'accounts.create', { name: 'acme' })
  return deps
}

test('an account is made empty, once by its name, and shown by name or id', async () => {
  const deps = await openFurnished()
  deps.clock.advance(1_000)
  const made = await act(deps, 'accounts.create', { name: ' acme ' })
  expect(made).toEqual({
    id: expect.stringMatching(/^acct_/),
    name: 'acme',
    balance_usd: '0',
    created_at: '2026-08-23T12:00:01Z',
    closed_at: null,
    ...renderAccountLimits(NO_LIMITS),
  })
  const shown = await act(deps, 'accounts.show', { name: 'acme' })
  const nothing = { threshold_usd: null, email: null, webhook_url: null, notified_at: null }
  const nobody = { owners: [], members: 0, member_daily_usd: '5.00', usage: null }
  expect(shown).toEqual({ ...made, keys: 0, ...nobody, ...nothing, marked: false })
  expect(await act(deps, 'accounts.show', { name: made.id })).toEqual(shown)
  expect((await act(deps, 'accounts.list', {})).map(({ name }) => name)).toEqual([
    'default',
    'acme',
  ])
  await expect(act(deps, 'accounts.create', { name: 'acme' })).rejects.toMatchObject({
    code: 'already_exists',
  })
  await expect(act(deps, 'accounts.create', { name: ' ' })).rejects.toMatchObject({
    code: 'invalid_request',
  })
})

test('a key that another operator moves away while its account is closed stays, and is not counted', async () => {
  const deps = await openTwo()
  const moved = await act(deps, 'keys.create', { name: 'oldest', account: 'acme' })
  for (const name of ['a', 'b', 'c', 'd']) {
    await act(deps, 'keys.create', { name, account: 'acme' })
  }
  const { keys } = deps.store
  /** Another operator comes between what is read and what is done. */
  const list: typeof keys.list = async (query) => {
    const listed = await keys.list(query)
    await act(deps, 'accounts.move-key', { key: moved.id, to: 'default' })
    return listed
  }
  const store = { ...deps.store, keys: { ...keys, list } }
  const closed = await act({ ...deps, store }, 'accounts.close', { account: 'acme' })
  expect(closed).toMatchObject({ closed_at: expect.any(String), revoked_keys: 4 })
  expect(await act(deps, 'keys.show', { key: moved.id })).toMatchObject({
    account: 'default',
    status: 'active',
  })
})

test('a renamed account keeps its id, its money and its keys; the default one keeps its name', async () => {
  const deps = await openTwo()
  await act(deps, 'balance.top-up', { amount_usd: '7', account: 'acme' })
  const { id } = await act(deps, 'keys.create', { name: 'theirs', account: 'acme' })
  const before = await act(deps, 'accounts.show', { name: 'acme' })
  const renamed = await act(deps, 'accounts.rename', { account: 'acme', name: 'umbrella' })
  expect(renamed).toMatchObject({ id: before.id, name: 'umbrella', previous: 'acme' })
  expect(await act(deps, 'accounts.show', { name: 'umbrella' })).toEqual({
    ...before,
    name: 'umbrella',
  })
  expect(await act(deps, 'keys.show', { key: 'theirs', account: 'umbrella' })).toMatchObject({
    id,
    account: 'umbrella',
  })
  await expect(act(deps, 'balance.show', { account: 'acme' })).rejects.toMatchObject({
    code: 'account_not_found',
  })
  await expect(
    act(deps, 'accounts.rename', { account: 'umbrella', name: 'default' }),
  ).rejects.toMatchObject({ code: 'already_exists' })
  await expect(
    act(deps, 'accounts.rename', { account: 'default', name: 'main' }),
  ).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'account default keeps its name: commands without --account act on it',
  })
})

test('the id of an account is nobody’s name, and is found before any name', async () => {
  const deps = await openTwo()
  const { id } = await act(deps, 'accounts.show', { name: 'acme' })
  for (const call of [
    () => act(deps, 'accounts.create', { name: id }),
    () => act(deps, 'accounts.rename', { account: 'acme', name: 'acct_1' }),
    () => act(deps, 'plan', { document: { accounts: [{ name: id }] }, prune: false }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'invalid_request' })
  }
  // One of before.
  await deps.store.accounts.create({ ...draftAccount(id, deps.clock.now()), id: 'acct_9' }, anAct())
  await act(deps, 'balance.top-up', { amount_usd: '7', account: id })
  expect(await act(deps, 'accounts.show', { name: 'acme' })).toMatchObject({ balance_usd: '7.00' })
})

test('a reference is applied once in all accounts: who has it is said', async () => {
  const deps = await openTwo()
  const input = { amount_usd: '1', ref: 'r' }
  await act(deps, 'balance.top-up', { ...input, account: 'acme' })
  await expect(act(deps, 'balance.top-up', input)).rejects.toMatchObject({
    code: 'already_exists',
    message: expect.stringContaining('of account acme; accounts share references'),
    details: { hint: 'gatewayctl ledger list --kind top_up --account acme' },
  })
})

test('an account that is closed gets nothing more, and nobody is told of it', async () => {
  const deps = await openTwo()
  const topUp = () => act(deps, 'balance.top-up', { amount_usd: '1', account: 'acme', ref: 'r' })
  await act(deps, 'thresholds.set', { account: 'acme', threshold_usd: '5' })
  await act(deps, 'thresholds.set', { account: 'acme', email: 'ops@example.org' })
  const { id: person } = await act(deps, 'accounts.members.add', {
    account: 'acme',
    email: 'bo@example.org',
    role: 'viewer',
  })
  await topUp()
  await act(deps, 'accounts.close', { account: 'acme' })
  for (const call of [
    () => act(deps, 'accounts.close', { account: 'acme' }),
    () => act(deps, 'balance.top-up', { amount_usd: '1', account: 'acme' }),
    () => act(deps, 'thresholds.set', { account: 'acme', email: 'a@example.org' }),
    () => act(deps, 'thresholds.test', { account: 'acme' }),
    () => act(deps, 'accounts.members.set-role', { account: 'acme', person, role: 'owner' }),
    () =>
      act(deps, 'accounts.members.add', {
        account: 'acme',
        email: 'a@example.org',
        role: 'owner',
      }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'account_closed' })
  }
  expect(await topUp()).toMatchObject({ applied: false })
  const { accounts } = await act(deps, 'status', {})
  expect(accounts.find(({ name }) => name === 'acme')).toMatchObject({ marked: false })
  const { findings } = await act(deps, 'doctor', {})
  expect(
    findings.filter(({ check, message }) => check !== 'ledger' && message.includes('acme')),
  ).toEqual([])
})

/** A cent, with a new key of acme's. */
async function spendOne(deps: TestOperatorDeps, name: string): Promise<ApiKey> {
  const { id } = await act(deps, 'keys.create', { name, account: 'acme' })
  const key = (await deps.store.keys.find(id as KeyId)) as ApiKey
  const { version: catalogue } = deps.store.catalogue.current()
  const claim = { ...aClaim(key, deps.clock.now()), catalogue }
  await deps.store.admissions.admit(claim)
  await deps.store.admissions.settle(claim.generationId, {
    answer: null,
    at: deps.clock.now(),
    charge: aCharge(usd('0.01')),
    activity: anActivity(claim, { cost: usd('0.01') }),
  })
  return key
}

test('an account at its own ceiling is named; what a key has left in it when it is moved is found by its name', async () => {
  const deps = await openTwo()
  await act(deps, 'balance.top-up', { amount_usd: '1', account: 'acme' })
  const { id } = await spendOne(deps, 'moved')
  await act(deps, 'accounts.set-limits', { account: 'acme', daily_spend_limit_usd: '0.01' })
  expect((await act(deps, 'status', {})).warnings).toMatchObject([
    { account: 'acme', key_id: null, what: 'day', level: 100, limit: '0.01' },
  ])
  const limits = async () =>
    (await act(deps, 'doctor', {})).findings.filter(({ check }) => check === 'limits')
  const ofAccount = {
    message: 'account acme reached its daily ceiling of $0.01',
    next: 'gatewayctl accounts set-limits acme --daily-usd N    # it is 0.01',
  }
  expect(await limits()).toMatchObject([ofAccount])
  await act(deps, 'limits.set', { keys: ['moved'], daily_spend_limit_usd: '0.005' })
  expect(await limits()).toMatchObject([
    ofAccount,
    {
      message: 'key moved reached its daily ceiling of $0.005 (account acme)',
      next: `gatewayctl limits set ${id} --daily-usd N    # it is 0.005 (account acme)`,
    },
  ])
  // The dashboard names those of the account that it shows, or of all.
  const accounts = await deps.store.accounts.list()
  const watched = { ...deps, watch: restingWatch(), live: serving() }
  const named = async (account: string, isNarrow: boolean) => {
    const shown = accounts.find(({ name }) => name === account)
    if (shown === undefined) throw new Error('no account')
    const frame = await (await openSnapshots(watched, shown, isNarrow)).watch().next()
    return frame.keys?.warnings.map(({ account: whose, key_name }) => key_name ?? whose)
  }
  expect(await named('default', false)).toEqual(['acme', 'moved'])
  expect(await named('default', true)).toEqual([])
  expect(await named('acme', true)).toEqual(['acme', 'moved'])
  expect((await act(watched, 'status', {})).warnings).toMatchObject([
    { account: 'acme', key_name: null },
    { account: 'acme', key_name: 'moved' },
  ])
  await act(deps, 'accounts.move-key', { account: 'acme', key: 'moved', to: 'default' })
  expect(await act(deps, 'ledger.list', { account: 'acme', key: 'moved' })).toMatchObject([
    { kind: 'charge' },
  ])
  expect(await act(deps, 'activity.count', { account: 'acme', key: 'moved' })).toMatchObject({
    count: 1,
  })
  await act(deps, 'keys.create', { name: 'other' })
  await expect(act(deps, 'ledger.list', { account: 'acme', key: 'other' })).rejects.toMatchObject({
    code: 'key_not_found',
  })
})

test('the notice of a ceiling is open while the ceiling refuses: not once another is set, or its day is over', async () => {
  const deps = await openTwo()
  await act(deps, 'balance.top-up', { amount_usd: '1', account: 'acme' })
  await spendOne(deps, 'first')
  const limit = (usd: string | null) =>
    act(deps, 'accounts.set-limits', { account: 'acme', daily_spend_limit_usd: usd })
  const states = async () =>
    (await act(deps, 'notices.list', { account: 'acme' })).map(
      ({ facts, state }) => `${facts['limit_usd']} ${state}`,
    )
  await limit('0.01')
  expect(await states()).toEqual(['0.01 open'])
  const [notice] = await act(deps, 'notices.list', {})
  const shown = { event: notice?.event_id ?? '' }
  expect(await act(deps, 'notices.show', shown)).toMatchObject({ state: 'open' })
  await limit('0.005')
  expect(await states()).toEqual(['0.005 open', '0.01 over'])
  await act(deps, 'limits.set', { keys: ['first'], daily_spend_limit_usd: '0.01' })
  expect(await states()).toEqual(['0.01 open', '0.005 open', '0.01 over'])
  await act(deps, 'keys.revoke', { key: 'first' })
  await limit(null)
  expect(await states()).toEqual(['0.01 over', '0.005 over', '0.01 over'])
  await limit('0.01')
  expect(await states()).toEqual(['0.01 over', '0.005 over', '0.01 open'])
  expect((await act(deps, 'status', {})).warnings).toMatchObject([{ account: 'acme' }])
  deps.clock.advance(12 * 3_600_000)
  expect(await states()).toEqual(['0.01 over', '0.005 over', '0.01 over'])
  // An account that is closed is asked for nothing more.
  await act(deps, 'accounts.set-limits', { account: 'acme', monthly_spend_limit_usd: '0.01' })
  await act(deps, 'accounts.close', { account: 'acme' })
  expect((await act(deps, 'status', {})).warnings).toEqual([])
  expect((await states())[0]).toBe('0.01 over')
})

test('records of a moved key are shown only where it alone is meant; one that was only refused has left some too', async () => {
  const deps = await openTwo()
  const create = async (name: string): Promise<ApiKey> => {
    const { id } = await act(deps, 'keys.create', { name, account: 'acme' })
    const key = await deps.store.keys.find(id as KeyId)
    if (key === undefined) throw new Error('no key')
    deps.clock.advance(1_000)
    const refused = { status: 429, code: 'rate_limit_exceeded', endedBy: 'refused' } as const
    deps.store.activity.note(anActivity(aClaim(key, deps.clock.now()), refused))
    return key
  }
  const move = (key: ApiKey) =>
    act(deps, 'accounts.move-key', { account: 'acme', key: key.id, to: 'default' })
  const count = async (key: string) =>
    (await act(deps, 'activity.count', { account: 'acme', key })).count
  const several = { code: 'key_not_found', message: expect.stringContaining('means several keys') }

  await move(await create('refused'))
  expect(await count('refused')).toBe(1)

  for (let nth = 0; nth < 2; nth++) {
    await act(deps, 'keys.revoke', { key: (await create('twin')).id, account: 'acme' })
  }
  await expect(count('twin')).rejects.toMatchObject(several)
  await expect(act(deps, 'ledger.count', { account: 'acme', key: 'twin' })).rejects.toMatchObject(
    several,
  )

  await act(deps, 'accounts.create', { name: 'umbrella' })
  await move(await create('both'))
  const second = await create('both')
  await act(deps, 'accounts.move-key', { account: 'acme', key: second.id, to: 'umbrella' })
  await expect(count('both')).rejects.toMatchObject({ code: 'key_not_found' })
  expect(await count(second.id)).toBe(1)
})

test('a file that names a closed account is refused before anything is planned', async () => {
  const deps = await openTwo()
  await act(deps, 'accounts.close', { account: 'acme' })
  for (const document of [
    { accounts: [{ name: 'acme' }] },
    { keys: [{ name: 'k', account: 'acme' }] },
    { members: [{ account: 'acme', email: 'a@example.org', role: 'viewer' as const }] },
  ]) {
    await expect(act(deps, 'plan', { document, prune: false })).rejects.toMatchObject({
      code: 'account_closed',
    })
  }
})

test('one that is misspelt is not found, and what was meant is said', async () => {
  const deps = await openTwo()
  for (const misspelt of [
    () => act(deps, 'accounts.show', { name: 'acmee' }),
    () => act(deps, 'keys.list', { account: 'acmee' }),
    () => act(deps, 'keys.create', { name: 'k', account: 'acmee' }),
    () => act(deps, 'limits.show', { account: 'acmee' }),
    () => act(deps, 'balance.show', { account: 'acmee' }),
    () => act(deps, 'balance.top-up', { amount_usd: '1', account: 'acmee' }),
    () => act(deps, 'balance.adjust', { amount_usd: '1', note: 'n', account: 'acmee' }),
    () => act(deps, 'ledger.list', { account: 'acmee' }),
    () => act(deps, 'thresholds.show', { account: 'acmee' }),
    () => act(deps, 'thresholds.set', { threshold_usd: '1', account: 'acmee' }),
    () => act(deps, 'thresholds.test', { account: 'acmee' }),
    () => act(deps, 'deliveries.list', { account: 'acmee' }),
  ]) {
    await expect(misspelt()).rejects.toMatchObject({
      code: 'account_not_found',
      message: 'no account is called "acmee"\ndid you mean acme?',
    })
  }
  expect(await act(deps, 'ledger.list', { account: 'acme' })).toEqual([])
})

test('keys are of one account, and so are their lists and limits', async () => {
  const deps = await openTwo()
  await act(deps, 'keys.create', { name: 'theirs', account: 'acme' })
  const names = async (account?: string) =>
    (await act(deps, 'keys.list', account === undefined ? {} : { account })).map(({ name }) => name)
  expect([await names(), await names('default'), await names('acme')]).toEqual([
    ['default'],
    ['default'],
    ['theirs'],
  ])
  const limits = await act(deps, 'limits.show', { account: 'acme' })
  expect(limits.map(({ name }) => name)).toEqual(['theirs'])
  expect((await act(deps, 'accounts.show', { name: 'acme' })).keys).toBe(1)
  const { id } = await act(deps, 'keys.show', { key: 'theirs' })
  await act(deps, 'keys.revoke', { key: id })
  expect((await act(deps, 'accounts.show', { name: 'acme' })).keys).toBe(0)
  expect(await names('acme')).toEqual([])
})

test('money is of one account: what moves there moves nowhere else', async () => {
  const deps = await openTwo()
  const account = 'acme'
  await act(deps, 'balance.top-up', { amount_usd: '7', account })
  await act(deps, 'balance.adjust', { amount_usd: '-2.5', note: 'refund of May', account })
  expect(await act(deps, 'balance.show', { account })).toMatchObject({
    account: 'acme',
    balance_usd: '4.50',
  })
  expect(await act(deps, 'balance.show', {})).toMatchObject({ balance_usd: '0' })
  expect(await act(deps, 'ledger.list', {})).toEqual([])
  expect(await act(deps, 'ledger.list', { account })).toMatchObject([
    { kind: 'adjust', amount_usd: '-2.50', note: 'refund of May' },
    { kind: 'top_up', amount_usd: '7.00' },
  ])
})

test('a ledger asked for by a key of another account says whose it is', async () => {
  const deps = await openTwo()
  const { id } = await act(deps, 'keys.create', { name: 'theirs', account: 'acme' })
  await expect(act(deps, 'ledger.list', { key: 'theirs' })).rejects.toMatchObject({
    code: 'key_not_found',
    message: `key theirs (${id}) is of account acme, not of default`,
    details: { hint: 'repeat it with --account acme' },
  })
  expect(await act(deps, 'ledger.list', { key: 'theirs', account: 'acme' })).toEqual([])
})

test.each([
  ['0', 'n'],
  ['-0', 'n'],
  ['--1', 'n'],
  ['1e3', 'n'],
  ['-0.0000000001', 'n'],
  ['-99999999999', 'n'],
  ['1', ''],
  ['1', '  '],
])('an adjustment of %j for the reason %j is refused', async (amount_usd, note) => {
  const deps = await openFurnished()
  const adjusted = act(deps, 'balance.adjust', { amount_usd, note })
  await expect(adjusted).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await act(deps, 'ledger.list', {})).toEqual([])
})

test('an adjustment goes either way, also below nothing', async () => {
  const deps = await openFurnished()
  const adjust = async (amount_usd: string) =>
    (await act(deps, 'balance.adjust', { amount_usd, note: 'n' })).balance_usd
  expect([await adjust('+1'), await adjust('0.5'), await adjust('-2')]).toEqual([
    '1.00',
    '1.50',
    '-0.50',
  ])
})
