// Clients and people, as an operator keeps them.
import { describe, expect, test } from 'vitest'
import { HOUR_MS, later, renderInstant } from '#domain/clock.ts'
import type { Artifact } from '#signin/register/artifact.ts'
import { digestOf } from '#signin/register/digest.ts'
import type { PersonId } from '#signin/register/person.ts'
import { putArtifact } from '#test/db/contract/write-artifacts.ts'
import { act, openFurnished } from './deps.ts'

const CALLBACK = 'https://wiki.example.org/callback'

describe('clients', () => {
  test('one is registered with a secret that is shown only once', async () => {
    const deps = await openFurnished()
    const made = await act(deps, 'clients.create', { name: 'Wiki', redirect_uris: [CALLBACK] })
    expect(made).toMatchObject({
      client_id: expect.stringMatching(/^wiki_[0-9a-z]{6}$/),
      client_secret: expect.stringMatching(/^cs_[\w-]{43}$/),
      require_pkce: true,
      warnings: [],
      issuer: null,
    })
    for (const shown of [
      await act(deps, 'clients.show', { client: 'Wiki' }),
      await act(deps, 'clients.list', {}),
    ]) {
      expect(JSON.stringify(shown)).not.toMatch(/secret|cs_/)
    }
    const rotated = await act(deps, 'clients.rotate-secret', { client: made.client_id })
    expect(rotated.client_secret).not.toBe(made.client_secret)
  })

  test('an edit that overlaps a new secret does not bring the old one back', async () => {
    const deps = await openFurnished()
    const { client_id: client } = await act(deps, 'clients.create', {
      name: 'Wiki',
      redirect_uris: [CALLBACK],
    })
    const [rotated] = await Promise.all([
      act(deps, 'clients.rotate-secret', { client }),
      act(deps, 'clients.edit', { client, name: 'Docs' }),
    ])
    expect(await deps.store.signin.clients.find(client)).toMatchObject({
      name: 'Docs',
      secretDigest: digestOf(rotated.client_secret ?? ''),
    })
  })

  test('absent fields stay unchanged when one is edited; weak settings are warned of', async () => {
    const deps = await openFurnished()
    const { client_id: client } = await act(deps, 'clients.create', {
      name: 'Wiki',
      redirect_uris: [CALLBACK],
    })
    const edited = await act(deps, 'clients.edit', { client, require_pkce: false })
    expect(edited).toMatchObject({ name: 'Wiki', redirect_uris: [CALLBACK], require_pkce: false })
    expect(edited.warnings).toHaveLength(1)
    const clear = await act(deps, 'clients.edit', {
      client,
      require_pkce: true,
      redirect_uris: ['http://wiki.lan/callback'],
    })
    expect(clear.warnings[0]).toContain('clear text')
  })

  test.each([
    [[], 'at least one'],
    [['https://a.example/#x'], 'fragment'],
    [['javascript:alert(1)'], 'not an absolute address'],
    [['ftp://a.example/'], 'neither https nor http'],
  ])('%j is refused', async (redirect_uris, words) => {
    const deps = await openFurnished()
    await expect(
      act(deps, 'clients.create', { name: 'Wiki', redirect_uris }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(words),
    })
  })

  test('addresses and rules that are named twice are kept once', async () => {
    const deps = await openFurnished()
    const twice = { redirect_uris: [CALLBACK, CALLBACK], allowed: ['staff', 'staff'] }
    expect(await act(deps, 'clients.create', { name: 'Wiki', ...twice })).toMatchObject({
      redirect_uris: [CALLBACK],
      allowed: ['staff'],
    })
  })

  test('a group in which nobody is: warned of, and refused where a domain was meant', async () => {
    const deps = await openFurnished()
    const stated = { name: 'Wiki', redirect_uris: [CALLBACK] }
    const made = await act(deps, 'clients.create', { ...stated, allowed: ['staff'] })
    expect(made.warnings).toMatchObject([expect.stringContaining('nobody is in the group staff')])
    // On an edit, what is left out stays.
    await expect(act(deps, 'clients.edit', { client: 'Wiki', allowed: [] })).rejects.toMatchObject({
      message: expect.stringContaining('everybody is null'),
    })
    const edit = act(deps, 'clients.edit', { client: 'Wiki', allowed: ['example.org'] })
    await expect(edit).rejects.toThrow('the domain is @example.org')
    await act(deps, 'groups.add', { group: 'team.example', people: ['ann@example.org'] })
    const edited = await act(deps, 'clients.edit', { client: 'Wiki', allowed: ['team.example'] })
    expect(edited.warnings).toEqual([])
  })

  test('events of what does not exist are refused, not none; the cabinet has no need of any', async () => {
    const deps = await openFurnished()
    const mistyped = act(deps, 'users.events', { outcome: 'signedin' })
    await expect(mistyped).rejects.toThrow('did you mean')
    expect(await act(deps, 'users.events', { outcome: 'wrong_code' })).toEqual([])
    expect(await act(deps, 'users.events', { client: 'cabinet' })).toEqual([])
  })

  test('people leave a group together, or none does', async () => {
    const deps = await openFurnished()
    await act(deps, 'groups.add', { group: 'staff', people: ['ann@example.org'] })
    await act(deps, 'users.add', { email: 'bob@example.org' })
    const people = ['ann@example.org', 'bob@example.org']
    const remove = act(deps, 'groups.remove', { group: 'staff', people })
    await expect(remove).rejects.toMatchObject({ message: 'bob@example.org is not in staff' })
    expect(await act(deps, 'groups.show', { group: 'staff' })).toMatchObject({
      people: ['ann@example.org'],
    })
  })

  test('an application has access once, however many browsers gave it, and loses all of it', async () => {
    const deps = await openFurnished()
    const { signin } = deps.store
    const stated = { name: 'Wiki', redirect_uris: [CALLBACK] }
    const { client_id } = await act(deps, 'clients.create', stated)
    const { id } = await act(deps, 'users.add', { email: 'ann@example.org' })
    const grant = (digest: string, scope: string, hours: number): Artifact => ({
      kind: 'Grant',
      digest: digest.repeat(64),
      payload: JSON.stringify({ openid: { scope } }),
      grantId: null,
      uid: null,
      personId: id as PersonId,
      clientId: client_id,
      consumedAt: null,
      expiresAt: later(deps.clock.now(), hours * HOUR_MS),
    })
    for (const one of [grant('a', 'openid', 2), grant('b', 'openid email', 1)]) {
      expect(await putArtifact(signin, one)).toBe(true)
    }
    const person = 'ann@example.org'
    const [access, ...more] = await act(deps, 'users.access.list', { person })
    expect(more).toEqual([])
    expect(access?.scopes.toSorted()).toEqual(['email', 'openid'])
    expect(access?.expires_at).toBe(renderInstant(later(deps.clock.now(), 2 * HOUR_MS)))
    await act(deps, 'users.access.withdraw', { person, access: access?.id ?? '' })
    expect(await act(deps, 'users.access.list', { person })).toEqual([])
  })

  const SCHEME = 'org.example.a:/out'
  test.each([
    [['https://a.example/'], SCHEME, 'neither https nor http'],
    [['org.example.a:/cb'], 'http://a.example/out', 'is not for an app'],
    [['http://127.0.0.1/cb'], 'https://localhost/out', 'is not for an app'],
    [[], 'http://a.example/out', 'is not for an app'],
  ])(
    'sent back to %j, a public client may not have %s after a sign-out',
    async (uris, logout, words) => {
      const deps = await openFurnished()
      const stated = { name: 'App', public: true, device: true, redirect_uris: uris }
      const refusal = {
        code: 'invalid_request',
        details: { param: 'logout_uris' },
        message: expect.stringContaining(words),
      }
      const create = act(deps, 'clients.create', { ...stated, logout_uris: [logout] })
      await expect(create).rejects.toMatchObject(refusal)
      const { client_id: client } = await act(deps, 'clients.create', stated)
      const edit = act(deps, 'clients.edit', { client, logout_uris: [logout] })
      await expect(edit).rejects.toMatchObject(refusal)
    },
  )

  test('a name shared by two is refused; a mistyped one gets a suggestion', async () => {
    const deps = await openFurnished()
    for (const name of ['Wiki', 'Wiki', 'Grafana']) {
      await act(deps, 'clients.create', { name, redirect_uris: [CALLBACK] })
    }
    await expect(act(deps, 'clients.show', { client: 'Wiki' })).rejects.toMatchObject({
      code: 'client_not_found',
      message: expect.stringContaining('several'),
    })
    await expect(act(deps, 'clients.remove', { client: 'Grafan' })).rejects.toMatchObject({
      message: expect.stringContaining('did you mean Grafana?'),
    })
    const removed = await act(deps, 'clients.remove', { client: 'Grafana' })
    expect(removed.removed).toBe(true)
    expect(await act(deps, 'clients.list', {})).toHaveLength(2)
  })

  test('the signing key is rotated, and the old one kept', async () => {
    const deps = await openFurnished()
    const first = await act(deps, 'clients.rotate-signing-key', {})
    const second = await act(deps, 'clients.rotate-signing-key', {})
    expect(second.kept).toEqual([first.key_id])
  })
})

describe('people', () => {
  test('one is added to an account, disabled and enabled, found by address and by id', async () => {
    const deps = await openFurnished()
    await act(deps, 'accounts.create', { name: 'acme' })
    const ada = await act(deps, 'users.add', {
      email: 'Ada@Example.org',
      account: 'acme',
      name: 'Ada',
    })
    expect(ada).toMatchObject({
      email: 'Ada@example.org',
      email_verified: false,
      accounts: [{ account: 'acme', role: 'owner' }],
      disabled: false,
      sessions: 0,
    })
    await expect(act(deps, 'users.add', { email: 'ada@example.org' })).rejects.toMatchObject({
      code: 'already_exists',
    })
    const disabled = await act(deps, 'users.disable', { person: 'ADA@example.org' })
    expect(disabled).toMatchObject({ disabled: true, disabled_at: '2026-08-23T12:00:00Z' })
    deps.clock.advance(5_000)
    const again = await act(deps, 'users.disable', { person: ada.id })
    expect(again.disabled_at).toBe('2026-08-23T12:00:00Z')
    expect(await act(deps, 'users.enable', { person: ada.id })).toMatchObject({ disabled: false })
    expect(await act(deps, 'users.sessions.revoke', { person: ada.id })).toMatchObject({
      ended_sessions: 0,
    })
    expect(await act(deps, 'users.remove', { person: ada.id })).toMatchObject({ removed: true })
    await expect(act(deps, 'users.show', { person: ada.id })).rejects.toMatchObject({
      code: 'person_not_found',
    })
  })

  test.each(['nobody', 'a@example.org\r\nBcc: b@example.org'])('%j is refused', async (email) => {
    const deps = await openFurnished()
    await expect(act(deps, 'users.add', { email })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })

  test('status counts both', async () => {
    const deps = await openFurnished()
    await act(deps, 'users.add', { email: 'ada@example.org' })
    expect(await act(deps, 'status', {})).toMatchObject({ people: 1, clients: 0, auth_url: null })
  })
})
