// `gatewayctl identities` as an operator types it: what it prints, where it takes its secret from, and what it asks first.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness

beforeAll(() => {
  cli = openCli()
  expect(cli.run(['init']).code).toBe(0)
})
afterAll(() => cli.close())

const SECRET = 'canary-client-secret'
const sso = ['--issuer', 'https://sso.example.org', '--client-id', 'gateway']

describe('identities', () => {
  test('add says what to register at the third party; the secret comes by standard input', () => {
    const { code, out, err } = cli.run(['identities', 'add', 'google', '--client-id', 'x.apps'], {
      stdin: `${SECRET}\n`,
    })
    expect(code).toBe(0)
    expect(out.replace(/20\d\d-\S+Z/g, 'AT')).toBe(
      [
        'name\tgoogle',
        'label\tGoogle',
        'type\toidc',
        'issuer\thttps://accounts.google.com',
        'client_id\tx.apps',
        'redirect\thttp://127.0.0.1:4141/identity/google/callback',
        'authoritative for\t',
        'people\t0',
        'created\tAT',
        'updated\tAT',
        '',
      ].join('\n'),
    )
    expect(err).toBe(
      '✓ added identity provider google\nregister this redirect URI at the provider, exactly as printed\n',
    )
  })

  test('its redirect address is that of the configuration', () => {
    const env = { GATEWAY_AUTH_URL: 'https://auth.example.org' }
    const { out } = cli.run(['identities', 'show', 'google'], { env })
    const callback = 'https://auth.example.org/identity/google/callback'
    expect(out).toContain(`\t${callback}\n`)
    const shown = cli.run(['identities', 'show', 'google', '--json'], { env })
    expect(JSON.parse(shown.out)).toMatchObject({ callback_url: callback })
    const listed = cli.run(['identities', 'list', '--json'], { env })
    expect(JSON.parse(listed.out)).toMatchObject([{ callback_url: callback }])
  })

  test('the secret comes from a variable or a file as well, and lies sealed', () => {
    const file = join(cli.home, 'secret')
    writeFileSync(file, SECRET)
    const fromFile = cli.run(['identities', 'add', 'sso', ...sso, '--key-file', file, '-q'])
    expect(fromFile).toEqual({ code: 0, out: 'sso\n', err: '' })
    const env = { GH_SECRET: SECRET }
    const add = ['identities', 'add', 'github', '--client-id', 'y', '--from-env', 'GH_SECRET', '-q']
    expect(cli.run(add, { env }).out).toBe('github\n')
    const rows = readDatabase<object>(cli, 'SELECT * FROM identity_providers')
    expect(rows).toHaveLength(3)
    expect(JSON.stringify(rows)).not.toContain(SECRET)
  })

  const OTHER = 'https://other.example.org'
  test.each([
    [['add', 'x', '--issuer', OTHER, '--client-id', 'y'], '', 2, 'the credential is empty'],
    [['add', 'x', '--client-id', 'y'], 'shh', 2, 'its issuer must be stated'],
    [['add', 'x', ...sso, '--type', 'saml'], 'shh', 2, '--type must be oidc or github'],
    [['add', 'x'], 'shh', 2, "required option '--client-id <id>' not specified"],
    [['add', 'x', ...sso], 'shh', 1, 'there is already an identity provider "sso"'],
    [['show', 'gogle'], '', 3, 'did you mean google?'],
    [['remove', 'google'], '', 5, 'gatewayctl identities remove google --yes'],
  ])('%j is refused', (args, stdin, expected, words) => {
    const { code, out, err } = cli.run(['identities', ...args], { stdin })
    expect([code, out]).toEqual([expected, ''])
    expect(err).toContain(words)
  })

  test('edit changes what is named', () => {
    const edit = (...flags: readonly string[]) =>
      cli.json<{ authoritative_for: readonly string[]; label: string }>([
        ...['identities', 'edit', 'sso', ...flags],
      ])
    const domains = ['--authoritative-for', 'example.org', '--authoritative-for', 'Example.com']
    expect(edit(...domains).authoritative_for).toEqual(['example.org', 'example.com'])
    const labelled = edit('--label', 'Example SSO')
    expect(labelled.authoritative_for).toEqual(['example.org', 'example.com'])
    expect(edit('--no-authoritative-for')).toMatchObject({
      label: 'Example SSO',
      authoritative_for: [],
    })
    const sealed = () =>
      readDatabase(cli, "SELECT sealed_secret FROM identity_providers WHERE name = 'sso'")
    const before = sealed()
    expect(
      cli.run(['identities', 'edit', 'sso', '--new-secret', '-q'], { stdin: 'new' }).code,
    ).toBe(0)
    expect(sealed()).not.toEqual(before)
  })

  test('list is one line each, and remove says so', () => {
    expect(cli.run(['identities']).out).toBe(
      [
        'google\tGoogle\toidc\t0\t\thttps://accounts.google.com',
        'sso\tExample SSO\toidc\t0\t\thttps://sso.example.org',
        'github\tGitHub\tgithub\t0\t\thttps://github.com',
        '',
      ].join('\n'),
    )
    expect(cli.run(['identities', 'remove', 'google', '--yes'])).toEqual({
      code: 0,
      out: '',
      err: '✓ removed identity provider google\n',
    })
    expect(cli.run(['identities', 'list', '-q']).out).toBe('sso\ngithub\n')
  })
})

test('users identities adds and removes, with a person', () => {
  cli.json(['users', 'add', 'ann@example.org'])
  const odd = cli.run(['users', 'identities', 'add', 'ann@example.org', 'sso'])
  expect([odd.code, odd.err]).toEqual([2, expect.stringContaining('add with a subject')])
  const linked = cli.run(['users', 'identities', 'add', 'ann@example.org', 'sso', 's-1'])
  expect([linked.code, linked.err]).toEqual([0, '✓ linked sso to ann@example.org\n'])
  cli.json(['users', 'add', 'bob@example.org'])
  const taken = cli.run(['users', 'identities', 'add', 'bob@example.org', 'sso', 's-1'])
  expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('somebody else')])
  expect(cli.run(['users', 'identities', 'remove', 'ann@example.org', 'sso', '--yes']).code).toBe(0)
  const asked = cli.run(['users', 'identities', 'remove', 'ann@example.org', 'sso'])
  expect([asked.code, asked.err]).toEqual([5, expect.stringContaining('--yes')])
  const none = cli.run(['users', 'identities', 'remove', 'ann@example.org', 'sso', '--yes'])
  expect([none.code, none.err]).toEqual([3, expect.stringContaining('does not sign in by sso')])
})
