// Clients and people, as an operator keeps them.
import { describe, expect, test } from 'vitest'
import { act, openFurnished } from './office.ts'

const CALLBACK = 'https://wiki.example.org/callback'

describe('clients', () => {
  test('one is registered with a secret that nobody sees again', async () => {
    const office = await openFurnished()
    const made = await act(office, 'clients.create', { name: 'Wiki', redirect_uris: [CALLBACK] })
    expect(made).toMatchObject({
      client_id: expect.stringMatching(/^wiki_[0-9a-z]{6}$/),
      client_secret: expect.stringMatching(/^cs_[\w-]{43}$/),
      require_pkce: true,
      warnings: [],
      issuer: null,
    })
    for (const shown of [
      await act(office, 'clients.show', { client: 'Wiki' }),
      await act(office, 'clients.list', {}),
    ]) {
      expect(JSON.stringify(shown)).not.toMatch(/secret|cs_/)
    }
    const rotated = await act(office, 'clients.rotate-secret', { client: made.client_id })
    expect(rotated.client_secret).not.toBe(made.client_secret)
  })

  test('what is not named stays when one is edited; what weakens it is told', async () => {
    const office = await openFurnished()
    const { client_id: client } = await act(office, 'clients.create', {
      name: 'Wiki',
      redirect_uris: [CALLBACK],
    })
    const edited = await act(office, 'clients.edit', { client, require_pkce: false })
    expect(edited).toMatchObject({ name: 'Wiki', redirect_uris: [CALLBACK], require_pkce: false })
    expect(edited.warnings).toHaveLength(1)
    const clear = await act(office, 'clients.edit', {
      client,
      require_pkce: true,
      redirect_uris: ['http://wiki.lan/callback'],
    })
    expect(clear.warnings[0]).toContain('clear text')
  })

  test.each([
    [[], 'at least one'],
    [['https://a.example/#x'], 'fragment'],
    [['javascript:alert(1)'], 'neither https nor http'],
  ])('%j is refused', async (redirect_uris, words) => {
    const office = await openFurnished()
    await expect(
      act(office, 'clients.create', { name: 'Wiki', redirect_uris }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(words),
    })
  })

  test('a name that two have is no name; a mistyped one is guessed at', async () => {
    const office = await openFurnished()
    for (const name of ['Wiki', 'Wiki', 'Grafana']) {
      await act(office, 'clients.create', { name, redirect_uris: [CALLBACK] })
    }
    await expect(act(office, 'clients.show', { client: 'Wiki' })).rejects.toMatchObject({
      code: 'client_not_found',
      message: expect.stringContaining('several'),
    })
    await expect(act(office, 'clients.remove', { client: 'Grafan' })).rejects.toMatchObject({
      message: expect.stringContaining('did you mean Grafana?'),
    })
    const removed = await act(office, 'clients.remove', { client: 'Grafana' })
    expect(removed.removed).toBe(true)
    expect(await act(office, 'clients.list', {})).toHaveLength(2)
  })

  test('the signing key is rotated, and the old one kept', async () => {
    const office = await openFurnished()
    const first = await act(office, 'clients.rotate-signing-key', {})
    const second = await act(office, 'clients.rotate-signing-key', {})
    expect(second.kept).toEqual([first.key_id])
  })
})

describe('people', () => {
  test('one is added to an account, disabled and enabled, found by address and by id', async () => {
    const office = await openFurnished()
    await act(office, 'accounts.create', { name: 'acme' })
    const ada = await act(office, 'users.add', {
      email: 'Ada@Example.org',
      account: 'acme',
      name: 'Ada',
    })
    expect(ada).toMatchObject({
      email: 'Ada@example.org',
      email_verified: false,
      account: 'acme',
      disabled: false,
      sessions: 0,
    })
    await expect(act(office, 'users.add', { email: 'ada@example.org' })).rejects.toMatchObject({
      code: 'already_exists',
    })
    const disabled = await act(office, 'users.disable', { person: 'ADA@example.org' })
    expect(disabled).toMatchObject({ disabled: true, disabled_at: '2026-08-23T12:00:00Z' })
    office.clock.advance(5_000)
    const again = await act(office, 'users.disable', { person: ada.id })
    expect(again.disabled_at).toBe('2026-08-23T12:00:00Z')
    expect(await act(office, 'users.enable', { person: ada.id })).toMatchObject({ disabled: false })
    expect(await act(office, 'users.sessions.revoke', { person: ada.id })).toMatchObject({
      ended_sessions: 0,
    })
    expect(await act(office, 'users.remove', { person: ada.id })).toMatchObject({ removed: true })
    await expect(act(office, 'users.show', { person: ada.id })).rejects.toMatchObject({
      code: 'person_not_found',
    })
  })

  test.each(['nobody', 'a@example.org\r\nBcc: b@example.org'])('%j is refused', async (email) => {
    const office = await openFurnished()
    await expect(act(office, 'users.add', { email })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })

  test('status counts both', async () => {
    const office = await openFurnished()
    await act(office, 'users.add', { email: 'ada@example.org' })
    expect(await act(office, 'status', {})).toMatchObject({ people: 1, clients: 0, auth_url: null })
  })
})
