/** Where things live: flag > GATEWAY_* > systemd > XDG. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Environment, openContext } from '#cli/context.ts'
import { readServeSettings } from '#cli/settings/config.ts'
import { DAY_MS } from '#domain/clock.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

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

test('an empty path is refused: it would be the working directory', () => {
  for (const flags of [{ dataDir: '' }, { config: '' }]) {
    expect(() => openContext(flags, {})).toThrow('is empty: give a path')
  }
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
  const settings = (toml: string, env: Environment = {}, flags = {}) => {
    const config = join(tempDirectory(), 'config.toml')
    writeFileSync(config, toml)
    return readServeSettings(openContext({ config }, env), flags)
  }

  test('gives what neither flag nor variable does', () => {
    const toml = 'listen = "0.0.0.0:9000"\nbase_url = "https://gw.example/v1/"\n'
    expect(settings(toml)).toEqual({
      hostname: '0.0.0.0',
      port: 9000,
      processes: 1,
      baseUrl: 'https://gw.example',
      gateway: DEFAULT_SETTINGS,
      activityKeptMs: 90 * DAY_MS,
    })
    const env = { GATEWAY_LISTEN: '[::1]:7000', GATEWAY_BASE_URL: 'http://h' }
    expect(settings(toml, env)).toMatchObject({ hostname: '::1', port: 7000, baseUrl: 'http://h' })
    expect(settings(toml, env, { listen: '8000' }).port).toBe(8000)
  })

  test('an address that listens everywhere is shown as one that can be called', () => {
    expect(settings('listen = "0.0.0.0:9000"').baseUrl).toBe('http://127.0.0.1:9000')
    expect(settings('listen = "[::1]:9000"').baseUrl).toBe('http://[::1]:9000')
  })

  test('says how many processes serve, one unless told', () => {
    expect(settings('processes = "3"').processes).toBe(3)
    expect(settings('processes = "auto"').processes).toBeGreaterThanOrEqual(1)
    expect(settings('processes = "3"', { GATEWAY_PROCESSES: '4' }).processes).toBe(4)
    expect(settings('', { GATEWAY_PROCESSES: '4' }, { processes: '5' }).processes).toBe(5)
    for (const wrong of ['0', '65', 'many', '1.5', '-1']) {
      expect(() => settings(`processes = "${wrong}"`), wrong).toThrow(
        'must be auto, or from 1 to 64',
      )
    }
  })

  const TIMES = [
    'reserve_output_tokens = 8192',
    'reserve_wait = "5s"',
    'memory_budget_mib = 1024',
    '[upstream]',
    'connect_timeout = "3s"',
    'first_byte_timeout = "45s"',
    'silence_timeout = "1m"',
    'total_timeout = "2h"',
  ].join('\n')

  test('says how long to wait for an upstream, and what to hold for an answer', () => {
    expect(settings('')).toMatchObject({ gateway: DEFAULT_SETTINGS })
    expect(settings('[upstream]').gateway).toEqual(DEFAULT_SETTINGS)
    expect(settings(TIMES).gateway).toEqual({
      reserveOutputTokens: 8_192,
      reserveWaitMs: 5_000,
      memoryBudgetBytes: 2 ** 30,
      connectTimeoutMs: 3_000,
      firstByteTimeoutMs: 45_000,
      silenceTimeoutMs: 60_000,
      totalTimeoutMs: 7_200_000,
    })
    const env = {
      GATEWAY_UPSTREAM_CONNECT_TIMEOUT: '4s',
      GATEWAY_UPSTREAM_TOTAL_TIMEOUT: '',
      GATEWAY_RESERVE_OUTPUT_TOKENS: '100',
      GATEWAY_RESERVE_WAIT: '0s',
      GATEWAY_MEMORY_BUDGET_MIB: '192',
    }
    expect(settings(TIMES, env).gateway).toMatchObject({
      reserveOutputTokens: 100,
      reserveWaitMs: 0,
      memoryBudgetBytes: 192 * 2 ** 20,
      connectTimeoutMs: 4_000,
      firstByteTimeoutMs: 45_000,
      totalTimeoutMs: 7_200_000,
    })
    const wrong = { GATEWAY_UPSTREAM_SILENCE_TIMEOUT: 'long' }
    expect(() => settings(TIMES, wrong)).toThrow(/^GATEWAY_UPSTREAM_SILENCE_TIMEOUT must be a/)
  })

  test('says how long the log is kept, at least a day: daily request limits are counted from it', () => {
    const kept = (text: string, env: Environment = {}) =>
      settings(`[retention]\nactivity = "${text}"`, env).activityKeptMs
    expect([kept('24h'), kept('400d'), kept('none')]).toEqual([DAY_MS, 400 * DAY_MS, null])
    expect(kept('7d', { GATEWAY_RETENTION_ACTIVITY: '2d' })).toBe(2 * DAY_MS)
    const why =
      /^retention.activity must be at least 24h, or none \(got "1439m"\)\ndaily request limits/
    expect(() => kept('1439m')).toThrow(why)
    expect(() => kept('forever')).toThrow('24h or 7d, or none (got "forever")')
    expect(() => kept('7d', { GATEWAY_RETENTION_ACTIVITY: '5s' })).toThrow(
      /^GATEWAY_RETENTION_ACTIVITY must be at least 24h/,
    )
  })

  test.each([
    ['base_ulr = "x"', 'base_ulr', 'base_url'],
    ['[upstream]\nconect_timeout = "1s"', 'upstream.conect_timeout', 'upstream.connect_timeout'],
    ['[upstraem]\nconnect_timeout = "1s"', 'upstraem.connect_timeout', 'upstream.connect_timeout'],
    ['silence_timeout = "1s"', 'silence_timeout', 'upstream.silence_timeout'],
    ['[upstream]\nlisten = "1"', 'upstream.listen', 'listen'],
    ['weather = "fine"', 'weather', null],
    ['[mail]', 'mail', null],
    ['[retention]\nactivty = "7d"', 'retention.activty', 'retention.activity'],
  ])('%j is unknown, with a suggestion where one is near', (toml, name, meant) => {
    const said = `no setting "${name}"${meant === null ? '' : `\ndid you mean ${meant}?`}`
    const ends = said.replace(/[.?]/g, '\\$&')
    expect(() => settings(toml)).toThrow(new RegExp(`${ends}$`))
  })

  test.each([
    ['listen = 4140', 'must be a text'],
    ['[[listen]]', 'must be a text'],
    ['[upstream.connect_timeout]\nms = 3', 'must be a text'],
    ['[upstream]\nconnect_timeout = 10', 'upstream.connect_timeout must be a text in quotes'],
    ['[upstream]\nconnect_timeout = "10"', 'upstream.connect_timeout must be a duration'],
    ['[upstream]\nconnect_timeout = "0s"', 'must be at least 1s and at most 24h (got "0s")'],
    ['[upstream]\ntotal_timeout = "2d"', 'must be at least 1s and at most 24h (got "2d")'],
    ['reserve_output_tokens = "4096"', 'reserve_output_tokens must be a whole number'],
    ['reserve_output_tokens = 0', 'must be a whole number of at least 1 (got "0")'],
    ['reserve_output_tokens = 1.5', 'must be a whole number'],
    ['reserve_output_tokens = -1', 'must be a whole number of at least 1 (got "-1")'],
    ['reserve_output_tokens = 2_000_000', 'must be at most 1000000'],
    ['memory_budget_mib = "256"', 'memory_budget_mib must be a whole number'],
    [
      'memory_budget_mib = 191',
      'must be from 192, so that a key can send a body of 32 MiB, to 1048576',
    ],
    ['memory_budget_mib = 2_000_000', 'to 1048576 (got "2000000")'],
    ['reserve_wait = 30', 'reserve_wait must be a text in quotes'],
    ['reserve_wait = "25h"', 'must be at most 24h, and 0s is not to wait (got "25h")'],
    ['reserve_wait = "soon"', 'reserve_wait must be a duration'],
    ['listen = "host"', 'must be host:port'],
    ['listen = "h:99999"', 'must be host:port'],
    ['listen =', 'is not TOML'],
    ['base_url = "gw.example"', 'must be an http or https address'],
    ['base_url = "https:gw.example"', 'must be an http or https address such as https://'],
  ])('%s is refused', (toml, why) => expect(() => settings(toml)).toThrow(why))

  test('a named file must be there, the usual one need not', () => {
    const named = openContext({ config: '/nowhere/c.toml' }, {})
    expect(() => readServeSettings(named, {})).toThrow('cannot read the configuration')
    const usual = openContext({}, { XDG_CONFIG_HOME: '/nowhere' })
    expect(readServeSettings(usual, {}).port).toBe(4140)
  })
})
