/** What may change about a key that is neither limit nor life: its name, note, end and secret, through the verbs. */
import { describe, expect, test } from 'vitest'
import { readSecret, type Secret } from '#domain/secret.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

const create = (deps: TestOperatorDeps, name: string, more = {}) =>
  act(deps, 'keys.create', { name, ...more })

const refused = (work: Promise<unknown>) => work.catch((error) => error)

const HOUR_SECONDS = 3_600

describe('edit', () => {
  test('changes only the given fields and reports old and new values', async () => {
    const deps = await openFurnished()
    const { id } = await create(deps, 'ci', { note: 'old', rpm_limit: 5 })
    const edit = async (input: object) => {
      const { changes, ...record } = await act(deps, 'keys.edit', { key: id, ...input })
      expect(await act(deps, 'keys.show', { key: id })).toMatchObject({
        name: record.name,
        note: record.note,
        status: record.status,
        expires_at: record.expires_at,
        rpm_limit: 5,
      })
      return changes
    }
    expect(await edit({ name: ' build ' })).toEqual([{ field: 'name', from: 'ci', to: 'build' }])
    expect(await edit({ note: 'new' })).toEqual([{ field: 'note', from: 'old', to: 'new' }])
    expect(await edit({ note: null })).toEqual([{ field: 'note', from: 'new', to: null }])
    expect(await edit({ disabled: true })).toEqual([{ field: 'disabled', from: false, to: true }])
    expect(await edit({ disabled: true })).toEqual([])
    expect(await edit({ expires_at: '2026-09-01T00:00:00Z', disabled: false })).toEqual([
      { field: 'disabled', from: true, to: false },
      { field: 'expires_at', from: null, to: '2026-09-01T00:00:00Z' },
    ])
    expect(await edit({ expires_at: null })).toEqual([
      { field: 'expires_at', from: '2026-09-01T00:00:00Z', to: null },
    ])
    expect(await edit({})).toEqual([])
  })

  test('stops a key and starts it again', async () => {
    const deps = await openFurnished()
    const { id } = await create(deps, 'ci')
    const statusAfter = async (input: object) =>
      (await act(deps, 'keys.edit', { key: id, ...input })).status
    expect(await statusAfter({ disabled: true })).toBe('disabled')
    expect(await statusAfter({ disabled: false })).toBe('active')
    expect(await statusAfter({ expires_at: '2026-08-23T12:00:01Z' })).toBe('active')
    deps.clock.advance(1_000)
    expect((await act(deps, 'keys.show', { key: id })).status).toBe('expired')
    expect(await statusAfter({ expires_at: null })).toBe('active')
  })

  test('warns of a namesake, and not of itself', async () => {
    const deps = await openFurnished()
    await create(deps, 'a')
    await create(deps, 'b')
    const warned = async (name: string) =>
      (await act(deps, 'keys.edit', { key: 'b', name })).warnings
    expect(await warned('b')).toEqual([])
    expect(await warned('a')).toEqual(['another key is called "a" too; tell them apart by id'])
  })

  test.each([
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(129) }],
    ['note', { note: 'x'.repeat(1_001) }],
    ['expires_at', { expires_at: '2026-08-23T12:00:00Z' }],
    ['expires_at', { expires_at: 'soon' }],
    ['disabled', { disabled: 'yes' }],
  ])('refuses a bad %s', async (param, input) => {
    const deps = await openFurnished()
    const { id } = await create(deps, 'ci')
    const refusal = await refused(act(deps, 'keys.edit', { key: id, ...input } as never))
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { param } })
    expect(await act(deps, 'keys.show', { key: id })).toMatchObject({ name: 'ci', note: null })
  })

  test('leaves limits, revoked keys and unknown ones alone', async () => {
    const deps = await openFurnished()
    const { id } = await create(deps, 'ci')
    const limit = { key: id, rpm_limit: 5 } as never
    expect(await refused(act(deps, 'keys.edit', limit))).toMatchObject({
      code: 'invalid_request',
    })
    const unknown = act(deps, 'keys.edit', { key: 'cj', name: 'x' })
    expect(await refused(unknown)).toMatchObject({ code: 'key_not_found' })
    await act(deps, 'keys.revoke', { key: id })
    const revoked = act(deps, 'keys.edit', { key: id, disabled: false })
    expect(await refused(revoked)).toMatchObject({ code: 'key_revoked' })
  })
})

describe('rotate', () => {
  const whoAnswers = async ({ store, clock }: TestOperatorDeps, secret: string) =>
    (await store.keys.findBySecret(readSecret(secret) as Secret, clock.now()))?.id

  test('shows the new secret once; the old one stays valid for a day by default', async () => {
    const deps = await openFurnished()
    const made = await create(deps, 'ci', { rpm_limit: 5 })
    const rotated = await act(deps, 'keys.rotate', { key: 'ci' })
    expect(rotated).toMatchObject({
      id: made.id,
      name: 'ci',
      rpm_limit: 5,
      created_at: made.created_at,
      warnings: [],
      earlier_secrets_until: '2026-08-24T12:00:00Z',
    })
    expect(rotated.key).not.toBe(made.key)
    expect(rotated.label).toBe(`${rotated.key.slice(0, 9)}…${rotated.key.slice(-4)}`)
    deps.clock.advance(86_400_000 - 1)
    expect(await whoAnswers(deps, made.key)).toBe(made.id)
    deps.clock.advance(1)
    expect(await whoAnswers(deps, made.key)).toBeUndefined()
    expect(await whoAnswers(deps, rotated.key)).toBe(made.id)
    expect((await act(deps, 'keys.identify', { secret: rotated.key })).id).toBe(made.id)
    expect(await refused(act(deps, 'keys.identify', { secret: made.key }))).toMatchObject({
      code: 'key_not_found',
    })
    const shown = JSON.stringify([
      await act(deps, 'keys.list', {}),
      await act(deps, 'keys.show', { key: 'ci' }),
    ])
    expect(shown).not.toContain(rotated.key)
    expect(shown).toContain(rotated.label)
  })

  test('with another grace, or none', async () => {
    const deps = await openFurnished()
    const { id, key: first } = await create(deps, 'ci')
    const second = await act(deps, 'keys.rotate', { key: id, grace_seconds: HOUR_SECONDS })
    expect(second.earlier_secrets_until).toBe('2026-08-23T13:00:00Z')
    const third = await act(deps, 'keys.rotate', { key: id, grace_seconds: 0 })
    expect(third.earlier_secrets_until).toBeNull()
    for (const old of [first, second.key]) expect(await whoAnswers(deps, old)).toBeUndefined()
    expect(await whoAnswers(deps, third.key)).toBe(id)
  })

  test.each([-1, 0.5, 365 * 86_400 + 1, '24h', null])(
    'refuses a grace of %j',
    async (grace_seconds) => {
      const deps = await openFurnished()
      const { key } = await create(deps, 'ci')
      const refusal = await refused(act(deps, 'keys.rotate', { key: 'ci', grace_seconds } as never))
      expect(refusal).toMatchObject({
        code: 'invalid_request',
        details: { param: 'grace_seconds' },
      })
      expect(await whoAnswers(deps, key)).toBeDefined()
    },
  )

  test('of a revoked or an unknown key is refused', async () => {
    const deps = await openFurnished()
    const { id } = await create(deps, 'ci')
    await act(deps, 'keys.revoke', { key: id })
    expect(await refused(act(deps, 'keys.rotate', { key: id }))).toMatchObject({
      code: 'key_revoked',
    })
    expect(await refused(act(deps, 'keys.rotate', { key: 'nobody' }))).toMatchObject({
      code: 'key_not_found',
    })
  })
})
