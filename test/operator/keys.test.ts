/** Keys and limits through their verbs, on a real store. */
import { describe, expect, test } from 'vitest'
import type { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import { readSecret, type Secret } from '#domain/secret.ts'
import { anAct } from '#test/support/nouns.ts'
import { act, openFurnished, openOperator, type TestOperatorDeps } from './deps.ts'

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (thrown: GatewayError) => thrown.code,
  )

const create = (deps: TestOperatorDeps, name: string, limits = {}) =>
  act(deps, 'keys.create', { name, ...limits })

describe('create', () => {
  test('keeps the digest of the secret it shows, and every limit it was told', async () => {
    const deps = await openFurnished()
    const made = await create(deps, 'ci', {
      rpm_limit: 5,
      rpd_limit: 50,
      concurrency_limit: 2,
      daily_spend_limit_usd: '1.5',
      monthly_spend_limit_usd: '20',
      max_output_tokens: 8_192,
      allowed_models: ['demo/*'],
      note: 'for tests',
      expires_at: '2026-09-01T00:00:00Z',
    })
    expect(made).toMatchObject({
      name: 'ci',
      kind: 'ordinary',
      rpm_limit: 5,
      rpd_limit: 50,
      concurrency_limit: 2,
      daily_spend_limit_usd: '1.50',
      monthly_spend_limit_usd: '20.00',
      max_output_tokens: 8_192,
      allowed_models: ['demo/*'],
      note: 'for tests',
      status: 'active',
      expires_at: '2026-09-01T00:00:00Z',
      created_at: '2026-08-23T12:00:00Z',
      warnings: [],
    })
    const found = await deps.store.keys.findBySecret(made.key as Secret, deps.clock.now())
    expect(found?.id).toBe(made.id)
    expect(JSON.stringify(await act(deps, 'keys.list', {}))).not.toContain(made.key)
    expect((await act(deps, 'keys.identify', { secret: made.key })).id).toBe(made.id)
    deps.clock.advance(10 * 86_400_000)
    expect((await act(deps, 'keys.show', { key: 'ci' })).status).toBe('expired')
  })

  test('warns of a namesake and of a mask that matches nothing, with what was meant', async () => {
    const deps = await openFurnished()
    const { warnings } = await create(deps, 'default', {
      allowed_models: ['demo/ecko', 'demoo/*'],
    })
    expect(warnings).toEqual([
      'another key is called "default" too; tell them apart by id',
      '"demo/ecko" matches no model; did you mean "demo/echo"?',
      '"demoo/*" matches no model; did you mean "demo/*"?',
    ])
  })

  test.each([
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(129) }],
    ['rpm_limit', { name: 'x', rpm_limit: 0 }],
    ['rpm_limit', { name: 'x', rpm_limit: 1.5 }],
    ['rpm_limit', { name: 'x', rpm_limit: 10_000_001 }],
    ['concurrency_limit', { name: 'x', concurrency_limit: '3' }],
    ['daily_spend_limit_usd', { name: 'x', daily_spend_limit_usd: 5 }],
    ['daily_spend_limit_usd', { name: 'x', daily_spend_limit_usd: '-5' }],
    ['daily_spend_limit_usd', { name: 'x', daily_spend_limit_usd: '0.0000001' }],
    ['allowed_models.1', { name: 'x', allowed_models: ['*', 'demo/e*'] }],
    ['kind', { name: 'x', kind: 'root' }],
    ['expires_at', { name: 'x', expires_at: 'tomorrow' }],
  ])('refuses a bad %s', async (param, input) => {
    const deps = await openFurnished()
    const refusal = await act(deps, 'keys.create', input as never).catch((error) => error)
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { param } })
    expect(await act(deps, 'keys.list', {})).toHaveLength(1)
  })

  test('a misspelt budget is never silently no budget', async () => {
    const deps = await openFurnished()
    const misspelt = { name: 'x', daily_spend_limit: '5' }
    expect(await codeOf(act(deps, 'keys.create', misspelt as never))).toBe('invalid_request')
  })

  test('without an account says to make one', async () => {
    const deps = await openOperator()
    const refusal = await create(deps, 'x').catch((error) => error)
    expect(refusal).toMatchObject({
      code: 'account_not_found',
      details: { hint: 'gatewayctl init' },
    })
  })
})

describe('which key is meant', () => {
  test('an id, an exact name, or the shown prefix', async () => {
    const deps = await openFurnished()
    const { id, label } = await create(deps, 'prod')
    for (const key of [id, 'prod', label, label.slice(0, 9)]) {
      expect((await act(deps, 'keys.show', { key })).id).toBe(id)
    }
  })

  test('several keys of a name are listed, and nothing is revoked', async () => {
    const deps = await openFurnished()
    const one = await create(deps, 'twin')
    const two = await create(deps, 'twin')
    const refusal = await act(deps, 'keys.revoke', { key: 'twin' }).catch((error) => error)
    expect(refusal.code).toBe('key_not_found')
    for (const { id } of [one, two]) {
      expect(refusal.message).toContain(id)
      expect((await act(deps, 'keys.show', { key: id })).status).toBe('active')
    }
  })

  test('of a revoked and an active key of one name, the active one', async () => {
    const deps = await openFurnished()
    const old = await create(deps, 'again')
    await act(deps, 'keys.revoke', { key: 'again' })
    expect((await act(deps, 'keys.show', { key: 'again' })).id).toBe(old.id)
    const young = await create(deps, 'again')
    expect((await act(deps, 'keys.show', { key: 'again' })).id).toBe(young.id)
  })

  test('an empty text, a wildcard and an unknown secret find no key', async () => {
    const deps = await openFurnished()
    for (const key of ['%', '_', 'if-%']) {
      expect(await codeOf(act(deps, 'keys.show', { key }))).toBe('key_not_found')
    }
    expect(await codeOf(act(deps, 'keys.show', { key: '' }))).toBe('invalid_request')
    expect(await codeOf(act(deps, 'keys.identify', { secret: 'if-nothing' }))).toBe('key_not_found')
  })
})

test('revoking holds at once and may be repeated', async () => {
  const deps = await openFurnished()
  const { key, id } = await create(deps, 'gone')
  const revoked = await act(deps, 'keys.revoke', { key: id })
  deps.clock.advance(1_000)
  expect(await act(deps, 'keys.revoke', { key: id })).toEqual(revoked)
  expect(revoked).toMatchObject({ status: 'revoked', revoked_at: '2026-08-23T12:00:00Z' })
  const secret = readSecret(key) as Secret
  const found = await deps.store.keys.findBySecret(secret, deps.clock.now())
  expect(found?.revokedAt).not.toBeNull()
  expect(await codeOf(act(deps, 'limits.set', { keys: [id], rpm_limit: 1 }))).toBe('key_revoked')
})

test('a long list comes whole, newest first', async () => {
  const deps = await openFurnished()
  for (let n = 0; n < 520; n++) {
    deps.clock.advance(1)
    await create(deps, `k${n}`)
  }
  const names = (await act(deps, 'keys.list', {})).map(({ name }) => name)
  expect(names).toHaveLength(521)
  expect(new Set(names).size).toBe(521)
  expect(names.slice(0, 2)).toEqual(['k519', 'k518'])
})

test('limits.set changes only the given limits and reports old and new values', async () => {
  const deps = await openFurnished()
  await create(deps, 'a', { rpm_limit: 60, daily_spend_limit_usd: '5' })
  const [amended] = await act(deps, 'limits.set', {
    keys: ['a'],
    rpm_limit: 120,
    daily_spend_limit_usd: null,
  })
  expect(amended).toMatchObject({ name: 'a', rpm_limit: 120, daily_spend_limit_usd: null })
  expect(amended?.changes).toEqual([
    { limit: 'rpm_limit', from: 60, to: 120 },
    { limit: 'daily_spend_limit_usd', from: '5.00', to: null },
  ])
  const [same] = await act(deps, 'limits.set', { keys: ['a'], rpm_limit: 120 })
  expect(same?.changes).toEqual([])
})

test('a key is found by the end of its id as lists show it, and by no bare one', async () => {
  const deps = await openFurnished()
  const { id } = await create(deps, 'ci')
  for (const shown of [`key_…${id.slice(-6)}`, `key_...${id.slice(-6)}`, `key_${id.slice(-8)}`])
    expect(await act(deps, 'keys.show', { key: shown })).toMatchObject({ id })
  for (const none of [id.slice(-6), 'key_…000000', `gen-…${id.slice(-6)}`])
    expect(await codeOf(act(deps, 'keys.show', { key: none }))).toBe('key_not_found')
})

test('no key is named as another is shown; of a name from before, what is meant is asked', async () => {
  const deps = await openFurnished()
  const { id, key: secret } = await create(deps, 'leaked')
  const prefix = secret.slice(0, 9)
  for (const name of [prefix, id, `key_${id.slice(-8)}`])
    await expect(create(deps, name)).rejects.toMatchObject({ details: { param: 'name' } })
  const old = await create(deps, 'old')
  await expect(act(deps, 'keys.edit', { key: 'old', name: prefix })).rejects.toMatchObject({
    details: { param: 'name' },
  })
  await deps.store.keys.amend(old.id as KeyId, { name: prefix }, anAct(deps.clock.now()))
  await expect(act(deps, 'keys.revoke', { key: prefix })).rejects.toThrow(/means several keys/)
  // It keeps its name, and is edited.
  await act(deps, 'keys.edit', { key: old.id, name: prefix, note: 'of old' })
})
