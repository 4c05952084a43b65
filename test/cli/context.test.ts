/** Where things live: flag > GATEWAY_* > systemd > XDG. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { readServeSettings } from '#cli/config.ts'
import { type Environment, openContext } from '#cli/context.ts'
import { type Desk, openDesk } from '#test/support/desk.ts'

const dataDir = (env: Environment, flag?: string): string =>
  openContext(flag === undefined ? {} : { dataDir: flag }, env).dataDir

test('the data directory: each place hides the ones after it', () => {
  const xdg = { XDG_DATA_HOME: '/x' }
  const systemd = { ...xdg, STATE_DIRECTORY: '/var/lib/gatewayctl:/other' }
  const own = { ...systemd, GATEWAY_DATA_DIR: '/own' }
  expect(dataDir(xdg)).toBe('/x/gatewayctl')
  expect(dataDir(systemd)).toBe('/var/lib/gatewayctl')
  expect(dataDir(own)).toBe('/own')
  expect(dataDir(own, '/flag')).toBe('/flag')
  expect(dataDir({ ...systemd, GATEWAY_DATA_DIR: '' })).toBe('/var/lib/gatewayctl')
})

test('the socket lives in the data directory unless it is named', () => {
  const context = openContext({ dataDir: '/d' }, {})
  expect(context.adminSocket).toBe('/d/run/admin.sock')
  const named = openContext({}, { GATEWAY_ADMIN_SOCKET: '/run/g.sock' })
  expect(named.adminSocket).toBe('/run/g.sock')
})

test('colour: wanted by a terminal, forced or refused by a variable', () => {
  const color = (env: Environment, flags = {}) => openContext(flags, env).color
  expect(color({ FORCE_COLOR: '1' })).toBe(true)
  expect(color({ FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false)
  expect(color({ FORCE_COLOR: '1', TERM: 'dumb' })).toBe(false)
  expect(color({ FORCE_COLOR: '1' }, { color: false })).toBe(false)
})

describe('the configuration file', () => {
  let desk: Desk | null = null
  afterEach(() => desk?.close())

  const settings = (toml: string, env: Environment = {}, flags = {}) => {
    desk = openDesk()
    const config = join(desk.home, 'config.toml')
    writeFileSync(config, toml)
    return readServeSettings(openContext({ config }, env), flags)
  }

  test('gives what neither flag nor variable does', () => {
    const toml = 'listen = "0.0.0.0:9000"\nbase_url = "https://gw.example/v1/"\n'
    expect(settings(toml)).toEqual({
      hostname: '0.0.0.0',
      port: 9000,
      baseUrl: 'https://gw.example',
    })
    const env = { GATEWAY_LISTEN: '[::1]:7000', GATEWAY_BASE_URL: 'http://h' }
    expect(settings(toml, env)).toEqual({ hostname: '::1', port: 7000, baseUrl: 'http://h' })
    expect(settings(toml, env, { listen: '8000' }).port).toBe(8000)
  })

  test('an address that listens everywhere is shown as one that can be called', () => {
    expect(settings('listen = "0.0.0.0:9000"').baseUrl).toBe('http://127.0.0.1:9000')
    expect(settings('listen = "[::1]:9000"').baseUrl).toBe('http://[::1]:9000')
  })

  test('an unknown setting is an error with a suggestion', () => {
    expect(() => settings('base_ulr = "x"')).toThrow(/no setting "base_ulr"\ndid you mean base_url/)
  })

  test.each([
    ['listen = 4140', 'must be a text'],
    ['listen = "host"', 'must be host:port'],
    ['listen = "h:99999"', 'must be host:port'],
    ['listen =', 'is not TOML'],
    ['base_url = "gw.example"', 'must be an http or https address'],
  ])('%s is refused', (toml, why) => expect(() => settings(toml)).toThrow(why))

  test('a named file must be there, the usual one need not', () => {
    const named = openContext({ config: '/nowhere/c.toml' }, {})
    expect(() => readServeSettings(named, {})).toThrow('cannot read the configuration')
    const usual = openContext({}, { XDG_CONFIG_HOME: '/nowhere' })
    expect(readServeSettings(usual, {}).port).toBe(4140)
  })
})
