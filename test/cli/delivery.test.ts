/** What notices can leave by, as variables and the configuration file say it; a password is repeated to nobody. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Environment, openContext } from '#cli/context.ts'
import { readDelivery, readDeliverySettings } from '#cli/settings/delivery-settings.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const FROM = { GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>' }
const NOWHERE = { loopback: false, private: false }

function contextOf(toml: string, env: Environment = {}) {
  const config = join(tempDirectory(), 'config.toml')
  writeFileSync(config, toml)
  return openContext({ config }, env)
}

const settings = (toml: string, env?: Environment) => readDeliverySettings(contextOf(toml, env))

const SMTP = '[smtp]\nurl = "smtps://me:pw@mail.example"\nfrom = "gateway@example.org"\n'

test('no change given: no mail, and webhooks to the public internet alone', () => {
  expect(settings('')).toEqual({ smtp: null, webhooks: NOWHERE })
  expect(readDelivery(contextOf(''))).toEqual({ smtp: false, loopbackWebhooks: false })
})

test('the mail server: a file named by a variable, else the variable, else the configuration', () => {
  const login = { user: 'me', password: 'pw' }
  const own = {
    host: 'mail.example',
    port: 465,
    isSecure: true,
    login,
    from: 'gateway@example.org',
    brand: null,
  }
  expect(settings(SMTP).smtp).toEqual(own)
  const variable = { GATEWAY_SMTP_URL: 'smtp://relay.example:25', ...FROM }
  expect(settings(`${SMTP}[brand]\nname = "Ann"\n`, variable).smtp).toEqual({
    host: 'relay.example',
    port: 25,
    isSecure: false,
    login: null,
    from: 'Gateway <gateway@example.org>',
    brand: 'Ann',
  })
  const path = join(tempDirectory(), 'smtp-url')
  writeFileSync(path, 'smtp://filed.example\n')
  const filed = { ...variable, GATEWAY_SMTP_URL_FILE: path }
  expect(settings(SMTP, filed).smtp?.host).toBe('filed.example')
  for (const [toml, env] of [
    [SMTP, {}],
    ['', variable],
    ['', { GATEWAY_SMTP_URL_FILE: '/unreadable' }],
  ] as const) {
    expect(readDelivery(contextOf(toml, env)).smtp).toBe(true)
  }
})

test.each([
  ['http://me:hunter2@mail.example', 'GATEWAY_SMTP_URL must be smtp://user:password@host:587'],
  ['smtp://me:hunter2@mail.example?pool=true', 'GATEWAY_SMTP_URL must be smtp://'],
  ['smtp://me:hunter2@mail.example:99999', 'GATEWAY_SMTP_URL must be smtp://'],
])('%s is refused, and its password stays unsaid', (url, message) => {
  const refused = (() => {
    try {
      return settings('', { GATEWAY_SMTP_URL: url, ...FROM })
    } catch (thrown) {
      return thrown
    }
  })()
  expect(refused).toMatchObject({ message: expect.stringContaining(message) })
  expect(Bun.inspect(refused)).not.toContain('hunter2')
})

test('a mail has a sender', () => {
  const url = { GATEWAY_SMTP_URL: 'smtp://me:hunter2@mail.example' }
  expect(() => settings('', url)).toThrow('a mail server is set, but no sender address')
  expect(() => settings('', { ...url, GATEWAY_SMTP_FROM: 'Gateway' })).toThrow(
    'GATEWAY_SMTP_FROM must be one address (got "Gateway")',
  )
})

test('a file that cannot be read keeps serve from starting', () => {
  const env = { GATEWAY_SMTP_URL_FILE: '/nowhere/smtp-url', ...FROM }
  expect(() => settings('', env)).toThrow('cannot read /nowhere/smtp-url (GATEWAY_SMTP_URL_FILE)')
})

test('how far webhooks may go', () => {
  const PRIVATE = '[network]\nallow_private_webhooks = true\n'
  expect(settings(PRIVATE).webhooks).toEqual({ ...NOWHERE, private: true })
  const off = { GATEWAY_ALLOW_PRIVATE_WEBHOOKS: '0' }
  expect(settings(PRIVATE, off).webhooks).toEqual(NOWHERE)
  const loopback = { GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' }
  expect(settings('', loopback).webhooks).toEqual({ ...NOWHERE, loopback: true })
  expect(readDelivery(contextOf('', loopback)).loopbackWebhooks).toBe(true)
  expect(() => settings('', { GATEWAY_ALLOW_PRIVATE_WEBHOOKS: 'yes' })).toThrow(
    'GATEWAY_ALLOW_PRIVATE_WEBHOOKS must be 1 or 0',
  )
  expect(() => settings('[network]\nallow_private_webhooks = "yes"\n')).toThrow(
    'network.allow_private_webhooks must be true or false',
  )
})

test('an invalid configuration does not fail a command that sends nothing', () => {
  expect(readDelivery(contextOf('[smtp'))).toEqual({ smtp: false, loopbackWebhooks: false })
})
