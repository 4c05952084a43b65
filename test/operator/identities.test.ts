// Identity providers as an operator keeps them: presets, refusals, no secret in any answer, and who signs in by what.
import { describe, expect, test } from 'vitest'
import { performAs } from '#operator/as-person.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { checkCodes } from '#operator/doctor/signin.ts'
import type { PersonId } from '#signin/register/person.ts'
import { newSigninEvent } from '#signin/register/signin-event.ts'
import { act, openFurnished } from './deps.ts'

const SECRET = 'canary-client-secret'
const google = { name: 'google', client_id: 'gw.apps.example', secret: SECRET }

describe('identity providers', () => {
  test('google and github have presets; any other needs an issuer', async () => {
    const deps = await openFurnished()
    expect(await act(deps, 'identities.add', google)).toMatchObject({
      name: 'google',
      type: 'oidc',
      label: 'Google',
      issuer: 'https://accounts.google.com',
      client_id: 'gw.apps.example',
      authoritative_for: [],
      people: 0,
      callback_url: null,
      warnings: [],
    })
    expect(await act(deps, 'identities.add', { ...google, name: 'github' })).toMatchObject({
      type: 'github',
      label: 'GitHub',
      issuer: 'https://github.com',
    })
    expect(
      await act(deps, 'identities.add', {
        ...google,
        name: 'code',
        type: 'github',
        issuer: 'https://git.example.org',
      }),
    ).toMatchObject({ type: 'github', label: 'GitHub', issuer: 'https://git.example.org' })
    expect(
      await act(deps, 'identities.add', {
        ...google,
        name: 'sso',
        issuer: 'https://sso.example.org/realms/x',
        label: 'Example SSO',
        authoritative_for: ['Example.ORG', 'пример.рф'],
      }),
    ).toMatchObject({
      type: 'oidc',
      label: 'Example SSO',
      authoritative_for: ['example.org', 'xn--e1afmkfd.xn--p1ai'],
    })
    const all = await act(deps, 'identities.list', {})
    expect(all.map(({ name }) => name)).toEqual(['code', 'github', 'google', 'sso'])
    const shown = [all, await act(deps, 'identities.show', { name: 'sso' })]
    expect(JSON.stringify(shown)).not.toMatch(/canary|secret/)
  })

  test.each<[object, string]>([
    [{ name: 'googel' }, 'did you mean google?'],
    [{ name: 'sso' }, 'issuer must be stated'],
    [{ name: 'Google' }, 'lower-case'],
    [{ name: '../x', issuer: 'https://sso.example.org' }, 'lower-case'],
    [{ issuer: 'http://sso.example.org' }, 'is not https'],
    [{ issuer: 'https:sso.example.org' }, 'is not an absolute address'],
    [{ secret: '' }, 'visible characters'],
    [{ secret: 'two\nlines' }, 'visible characters'],
    [{ client_id: ' ' }, 'visible characters'],
    [{ authoritative_for: ['a@example.org'] }, 'a domain such as'],
    [{ authoritative_for: ['*.example.org'] }, 'a domain such as'],
    [{ type: 'saml' }, 'type'],
    [{ client_secret: 'x' }, 'client_secret'],
  ])('%j is refused', async (stated, words) => {
    const deps = await openFurnished()
    await expect(
      act(deps, 'identities.add', { ...google, ...stated } as never),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(words),
    })
  })

  test('a name and an issuer are unique; a mistyped name gets a suggestion', async () => {
    const deps = await openFurnished()
    await act(deps, 'identities.add', google)
    for (const name of ['google', 'second']) {
      await expect(
        act(deps, 'identities.add', { ...google, name, issuer: 'https://accounts.google.com' }),
      ).rejects.toMatchObject({ code: 'already_exists' })
    }
    await expect(act(deps, 'identities.show', { name: 'googel' })).rejects.toMatchObject({
      code: 'provider_not_found',
      message: expect.stringContaining('did you mean google?'),
    })
  })

  test('absent fields stay unchanged when one is edited, the secret too', async () => {
    const deps = await openFurnished()
    await act(deps, 'identities.add', { ...google, authoritative_for: ['example.org'] })
    const { identityProviders } = deps.store.signin
    expect(await act(deps, 'identities.edit', { name: 'google', label: 'Work' })).toMatchObject({
      label: 'Work',
      authoritative_for: ['example.org'],
    })
    expect(await identityProviders.secret('google')).toBe(SECRET)
    await act(deps, 'identities.edit', { name: 'google', secret: 'new', authoritative_for: [] })
    expect(await identityProviders.secret('google')).toBe('new')
    await expect(
      act(deps, 'identities.edit', { name: 'google', issuer: 'https://x.example' } as never),
    ).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('plain http on this machine is warned of', async () => {
    const deps = await openFurnished()
    const added = await act(deps, 'identities.add', {
      ...google,
      name: 'dev',
      issuer: 'http://127.0.0.1:8080',
    })
    expect(added.warnings[0]).toContain('without TLS')
  })

  test('while a gateway runs, the callback URL is reported', async () => {
    const deps = await openFurnished()
    const live = { authUrl: 'https://auth.example.org' } as NonNullable<typeof deps.live>
    expect(await act({ ...deps, live }, 'identities.add', google)).toMatchObject({
      callback_url: 'https://auth.example.org/identity/google/callback',
    })
  })
})

test('two edits at once are both kept: a domain that was taken away does not come back', async () => {
  const deps = await openFurnished()
  await act(deps, 'identities.add', { ...google, authoritative_for: ['example.org'] })
  await Promise.all([
    act(deps, 'identities.edit', { name: 'google', authoritative_for: [] }),
    act(deps, 'identities.edit', { name: 'google', label: 'Work' }),
  ])
  expect(await deps.store.signin.identityProviders.find('google')).toMatchObject({
    label: 'Work',
    authoritativeFor: [],
  })
})

describe('a person', () => {
  test('is shown with what they sign in by, which can be taken away', async () => {
    const deps = await openFurnished()
    await act(deps, 'identities.add', google)
    const { id } = await act(deps, 'users.add', { email: 'ann@example.org' })
    const identity = { issuer: 'https://accounts.google.com', subject: '1', claimedName: 'ann@g' }
    await deps.store.signin.identities.link(identity, id as PersonId, deps.clock.now(), 0)
    const at = '2026-08-23T12:00:00Z'
    expect(await act(deps, 'users.show', { person: 'ann@example.org' })).toMatchObject({
      identities: [
        {
          provider: 'google',
          label: 'Google',
          subject: '1',
          name: 'ann@g',
          linked_at: at,
          last_used_at: at,
        },
      ],
    })
    expect(await act(deps, 'identities.show', { name: 'google' })).toMatchObject({ people: 1 })
    const unlink = { person: 'ann@example.org', provider: 'google' }
    expect(await act(deps, 'users.identities.remove', unlink)).toMatchObject({
      identities: [],
      unlinked: 'google',
    })
    await expect(act(deps, 'users.identities.remove', unlink)).rejects.toMatchObject({
      code: 'provider_not_found',
      message: 'ann@example.org does not sign in by google',
    })
  })

  test('keeps one way in where no codes are mailed; an operator may take it away all the same', async () => {
    const base = await openFurnished()
    await act(base, 'identities.add', google)
    const member = { email: 'ann@example.org', role: 'owner' } as const
    const { id } = await act(base, 'accounts.members.add', member)
    const add = { person: id, provider: 'google', subject: '1', name: 'ann@g' }
    await act(base, 'users.identities.add', add)
    const [account] = await base.store.accounts.list()
    const actor = { ...member, personId: id as PersonId, accountId: account?.id ?? 'acct_' }
    const asAnn = (mailsCodes: boolean) =>
      performAs({ ...base, live: { mailsCodes } as OperatorDeps['live'] }, actor)
    const unlink = { person: id, provider: 'google' }
    await expect(asAnn(false)('users.identities.remove', unlink)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'way_in' },
    })
    // A passkey is another, and then the last.
    const at = base.clock.now()
    const passkeyOfAnn = {
      id: 'psk_one',
      personId: id as PersonId,
      credentialId: 'AA',
      name: 'Laptop',
      publicKey: 'AA',
      counter: 0,
      transports: [],
      isSynced: false,
      createdAt: at,
      lastUsedAt: null,
    } as const
    const facts = { outcome: 'signed_in', address: '' } as const
    await base.store.signin.passkeys.add(passkeyOfAnn, newSigninEvent(at, facts), 0)
    const bare = await asAnn(false)('users.identities.remove', unlink)
    expect(bare.identities).toEqual([])
    const passkey = { person: id, passkey: 'psk_one' }
    await expect(asAnn(false)('users.passkeys.remove', passkey)).rejects.toMatchObject({
      details: { param: 'way_in' },
    })
    await act(base, 'users.identities.add', add)
    const { identities } = await asAnn(true)('users.identities.remove', unlink)
    expect(identities).toEqual([])
    await act(base, 'users.identities.add', add)
    expect(await act(base, 'users.identities.remove', unlink)).toMatchObject({ identities: [] })
  })

  test('signs in by a provider no more when that is removed', async () => {
    const deps = await openFurnished()
    await act(deps, 'identities.add', google)
    const { id } = await act(deps, 'users.add', { email: 'ann@example.org' })
    const identity = { issuer: 'https://accounts.google.com', subject: '1', claimedName: null }
    await deps.store.signin.identities.link(identity, id as PersonId, deps.clock.now(), 0)
    expect(await act(deps, 'identities.remove', { name: 'google' })).toMatchObject({
      people: 1,
      removed: true,
    })
    expect((await act(deps, 'users.show', { person: id })).identities).toEqual([])
  })
})

describe('doctor', () => {
  const said = async (deps: Awaited<ReturnType<typeof openFurnished>>) =>
    (await act(deps, 'doctor', {})).findings.filter(({ check }) => check === 'identities')

  test('says whose credentials can be read', async () => {
    const deps = await openFurnished()
    expect(await said(deps)).toEqual([])
    await act(deps, 'identities.add', google)
    expect(await said(deps)).toMatchObject([
      { level: 'ok', message: 'credentials readable: Google' },
    ])
  })

  test('says that new people need a mail server, whoever vouches for them', async () => {
    const deps = await openFurnished()
    await act(deps, 'identities.add', google)
    const redirect_uris = ['https://wiki.example/cb']
    await act(deps, 'clients.create', { name: 'Wiki', redirect_uris })
    const live = { authUrl: 'https://auth.example', baseUrl: '', hops: () => [] }
    const served = { ...deps, dataDir: '/', live: live as unknown as OperatorDeps['live'] }
    expect(await checkCodes(served)).toMatchObject([
      { level: 'warning', message: expect.stringContaining('new people cannot sign in') },
    ])
  })
})
