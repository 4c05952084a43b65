// Where people sign in: flag > variable > file > default, and what is refused before anything starts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openContext } from '#cli/context.ts'
import { readSigninSettings, type SigninFlags } from '#cli/settings/signin-settings.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

function read(
  {
    flags = {},
    env = {},
    file = '',
  }: {
    readonly flags?: SigninFlags
    readonly env?: Readonly<Record<string, string>>
    readonly file?: string
  },
  gatewayPort = 4140,
) {
  const config = join(tempDirectory(), 'config.toml')
  writeFileSync(config, file)
  return readSigninSettings(openContext({ config }, env), flags, gatewayPort)
}

test('defaults: loopback, open to anyone with a verified address', () => {
  expect(read({})).toEqual({
    hostname: '127.0.0.1',
    port: 4141,
    authUrl: 'http://127.0.0.1:4141',
    signup: 'open',
    passkeys: 'optional',
    contact: undefined,
    limits: { codesPerAddress: 5, codesPerNetwork: 200, signinsPerNetwork: 100 },
    cabinet: { contact: null },
    isStated: false,
  })
})

test('the rate limits are set by the file or by variables', () => {
  const file = 'auth_codes_per_address = 7\nauth_codes_per_network = 900'
  const env = { GATEWAY_AUTH_CODES_PER_NETWORK: '1000', GATEWAY_AUTH_SIGNINS_PER_NETWORK: '400' }
  expect(read({ file, env })?.limits).toEqual({
    codesPerAddress: 7,
    codesPerNetwork: 1000,
    signinsPerNetwork: 400,
  })
  expect(() => read({ file: 'auth_codes_per_network = 0' })).toThrow(
    'auth_codes_per_network must be a whole number of at least 1',
  )
  expect(() => read({ env: { GATEWAY_AUTH_SIGNINS_PER_NETWORK: '1000001' } })).toThrow(
    'GATEWAY_AUTH_SIGNINS_PER_NETWORK must be at most 1000000',
  )
})

test('passkeys are required only where browsers have them', () => {
  const required = 'auth_passkeys = "required"\n'
  const named = `${required}auth_url = "https://auth.example.org"`
  expect(read({ file: named })?.passkeys).toBe('required')
  expect(read({ file: `${required}auth_url = "http://localhost:4141"` })?.passkeys).toBe('required')
  const env = { GATEWAY_AUTH_PASSKEYS: 'off' }
  expect(read({ file: named, env })?.passkeys).toBe('off')
  for (const url of [
    '',
    'auth_url = "http://auth.example.org"',
    'auth_url = "https://192.0.2.7"',
  ]) {
    expect(() => read({ file: required + url })).toThrow('browsers have none at http')
  }
  expect(read({ file: `${required}auth_listen = "off"` })).toBeNull()
  expect(() => read({ file: 'auth_passkeys = "yes"' })).toThrow(
    'auth_passkeys must be one of off, optional, required (got "yes")',
  )
})

test('a gateway on any free port takes one for signing in as well', () => {
  expect(read({}, 0)).toMatchObject({ port: 0, authUrl: null, isStated: false })
})

test('flag before variable before file', () => {
  const file =
    'auth_listen = "127.0.0.1:1"\nauth_url = "https://file.example"\nauth_signup = "closed"'
  const env = { GATEWAY_AUTH_LISTEN: '127.0.0.1:2', GATEWAY_AUTH_URL: 'https://variable.example' }
  expect(read({ file })).toMatchObject({
    port: 1,
    authUrl: 'https://file.example',
    signup: [],
  })
  expect(read({ file, env })).toMatchObject({ port: 2, authUrl: 'https://variable.example' })
  const flags = { authListen: '0.0.0.0:3', authUrl: 'https://flag.example/' }
  expect(read({ file, env, flags })).toMatchObject({
    hostname: '0.0.0.0',
    port: 3,
    authUrl: 'https://flag.example',
    isStated: true,
  })
})

test('who may sign up: everybody, nobody, or domains and addresses, as a list or as a text', () => {
  const example = ['@example.org', 'Ann@other.example']
  expect(read({ file: 'auth_signup = ["Example.org", "Ann@other.example"]' })?.signup).toEqual(
    example,
  )
  const env = { GATEWAY_AUTH_SIGNUP: '@example.org, Ann@other.example' }
  expect(read({ env })?.signup).toEqual(example)
  expect(read({ env, flags: { authSignup: 'closed' } })?.signup).toEqual([])
  for (const wrong of ['maybe', 'example.org nonsense', '*.example.org', 'a b@example.org', ',']) {
    expect(() => read({ flags: { authSignup: wrong } })).toThrow(
      '--auth-signup must be open, closed',
    )
  }
  expect(() => read({ file: 'auth_signup = [1]' })).toThrow('a text in quotes, or a list of them')
})

test('off is off', () => {
  expect(read({ env: { GATEWAY_AUTH_LISTEN: 'off' } })).toBeNull()
})

describe('refused', () => {
  test.each([
    'auth.example.org',
    'ftp://auth.example.org',
    'https://auth.example.org/path',
    'https://auth.example.org/?x',
    'https://auth.example.org/#x',
    'https://me@auth.example.org',
    'https:auth.example.org',
  ])('%s as an issuer', (authUrl) => {
    expect(() => read({ flags: { authUrl } })).toThrow('auth URL must be')
  })

  test('an invalid address, with the name of its setting', () => {
    expect(() => read({ flags: { authListen: 'nowhere' } })).toThrow('--auth-listen must be')
    expect(() => read({ env: { GATEWAY_AUTH_LISTEN: 'nowhere' } })).toThrow('GATEWAY_AUTH_LISTEN')
    expect(() => read({ file: 'auth_signup = "maybe"' })).toThrow('auth_signup must be')
  })
})
