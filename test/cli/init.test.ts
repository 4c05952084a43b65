/** `init` at a terminal: three questions at most, none of them twice, and whoever leaves has changed nothing. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'

let cli: CliHarness
beforeEach(() => {
  cli = openCli()
})
afterEach(() => cli.close())

const LISTEN = 'address to listen on [127.0.0.1:4140]: '
const EMAIL = 'e-mail for low-balance alerts [none]: '
const PROVIDER =
  'provider (openai anthropic openrouter groq mistral deepseek xai together fireworks google bedrock vertex cohere voyage) [demo only]: '
const SECRET = 'sk-0123456789-hidden'

/** A pseudo-terminal without a size would have the hidden prompt fold after every letter. */
const init = (env: Readonly<Record<string, string>> = {}) =>
  openTerminal(cli, 'stty cols 80 rows 24; gatewayctl init', env)

const config = (): string => join(cli.home, 'config', 'gatewayctl', 'config.toml')
const database = (): string => join(cli.dataDir, 'gateway.db')

describe.skipIf(!hasTerminals)('at a terminal', () => {
  test('Enter three times is what --no-input makes', async () => {
    const terminal = init()
    for (const question of [LISTEN, EMAIL, PROVIDER]) {
      await terminal.says(question)
      expect(existsSync(cli.dataDir)).toBe(false)
      terminal.type('\r')
    }
    expect(await terminal.exited).toBe(0)
    expect(terminal.shown()).toMatch(/^if-\w{49}\r$/m)
    expect(terminal.shown()).toContain('then: gatewayctl providers add openai')
    expect(existsSync(config())).toBe(false)
    expect(cli.run(['providers', '-q']).out).toBe('demo\n')
    expect(cli.json(['thresholds'])).toMatchObject({ email: null })

    const again = init()
    expect(await again.exited).toBe(0)
    expect(again.shown()).not.toContain('[')
    expect(again.shown()).toContain('nothing to do')
  })

  test('what is answered is set; what cannot be is asked again, and the credential is not shown', async () => {
    // No vendor hears of a test: the way out ends at once.
    const terminal = init({ HTTPS_PROXY: 'http://127.0.0.1:9' })
    await terminal.says(LISTEN)
    terminal.type('4150x\r')
    await terminal.says('the address must be host:port such as 127.0.0.1:4140 (got "4150x")')
    terminal.type('127.0.0.1:4150\r')
    await terminal.says(EMAIL)
    terminal.type('nobody\r')
    await terminal.says('it must be an e-mail address')
    terminal.type('ops@example.org\r')
    await terminal.says(PROVIDER)
    terminal.type('grok\r')
    await terminal.says('"grok" is not in the list; did you mean groq?')
    terminal.type('groq\r')
    await terminal.says('credential')
    expect(existsSync(cli.dataDir)).toBe(false)
    terminal.type(`${SECRET}\r`)
    expect(await terminal.exited).toBe(0)

    const shown = terminal.shown()
    expect(shown).not.toContain(SECRET)
    expect(shown).not.toContain('then: gatewayctl providers add')
    expect(shown).toContain('! not checked: ')
    expect(shown).toMatch(/✓ provider {2}groq, \d+ priced models/)
    expect(readFileSync(config(), 'utf8')).toBe('listen = "127.0.0.1:4150"\n')
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    expect(cli.run(['config', 'check', config()]).code).toBe(0)
    expect(cli.json(['thresholds'])).toMatchObject({ email: 'ops@example.org' })
    expect(cli.json(['providers', 'show', 'groq'])).toMatchObject({ has_credential: true })
  })

  test('the address is not asked for where it is configured', async () => {
    const named = init({ GATEWAY_LISTEN: '127.0.0.1:4160' })
    await named.says(EMAIL)
    expect(named.shown()).not.toContain(LISTEN)
    named.type('\x03')
    expect(await named.exited).toBe(130)
    mkdirSync(join(cli.home, 'config', 'gatewayctl'), { recursive: true })
    writeFileSync(config(), 'listen = "127.0.0.1:4170"\n')
    const written = init()
    await written.says(EMAIL)
    expect(written.shown()).not.toContain(LISTEN)
    written.type('\x04')
    expect(await written.exited).toBe(5)
    expect(existsSync(database())).toBe(false)
  })

  test('a credential that is a key of this gateway is refused before anything is made', async () => {
    const terminal = init()
    for (const [question, answer] of [
      [LISTEN, ''],
      [EMAIL, ''],
      [PROVIDER, 'openai'],
      ['credential', 'if-mine'],
    ] as const) {
      await terminal.says(question)
      terminal.type(`${answer}\r`)
    }
    expect(await terminal.exited).toBe(2)
    expect(terminal.shown()).toContain('it is a key of this gateway')
    expect(existsSync(cli.dataDir)).toBe(false)
  })

  test('a cloud is asked for its region; the key of a service account is in a file', async () => {
    const terminal = init({ HTTPS_PROXY: 'http://127.0.0.1:9' })
    for (const [question, answer] of [
      [LISTEN, ''],
      [EMAIL, ''],
      [PROVIDER, 'bedrock'],
      ['region [us-east-1]: ', 'eu-central-1'],
      ['credential', SECRET],
    ] as const) {
      await terminal.says(question)
      terminal.type(`${answer}\r`)
    }
    expect(await terminal.exited).toBe(0)
    expect(cli.json(['providers', 'show', 'bedrock'])).toMatchObject({
      type: 'bedrock',
      base_url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    })
  })

  test('the key file of another kind of account is refused before anything is made', async () => {
    const file = join(cli.home, 'key.json')
    writeFileSync(file, '{"type": "authorized_user"}')
    const terminal = init()
    for (const [question, answer] of [
      [LISTEN, ''],
      [EMAIL, ''],
      [PROVIDER, 'vertex'],
      ['region [global]: ', ''],
      ['key file of the service account: ', `${file}.txt`],
      ['there is no file', file],
    ] as const) {
      await terminal.says(question)
      terminal.type(`${answer}\r`)
    }
    expect(await terminal.exited).toBe(2)
    expect(terminal.shown()).toContain('"authorized_user"')
    expect(existsSync(cli.dataDir)).toBe(false)
  })

  test.each(['--no-input', '--json', '-q'])('%s asks nothing', async (flag) => {
    const terminal = openTerminal(cli, `gatewayctl init ${flag}`)
    expect(await terminal.exited).toBe(0)
    expect(terminal.shown()).not.toContain(EMAIL)
    expect(existsSync(database())).toBe(true)
  })
})
