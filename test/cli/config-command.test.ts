/** `config`: which settings are in force, where they come from, and whether a file would do. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { VARIABLES } from '#cli/config/unknown-variables.ts'
import { openContext } from '#cli/context.ts'
import { EXIT } from '#cli/exit.ts'
import { NOUNS } from '#cli/nouns.ts'
import { readServeSettings } from '#cli/settings/config.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'

let cli: CliHarness
let file: string
beforeAll(() => {
  cli = openCli()
  mkdirSync(join(cli.home, 'config', 'gatewayctl'), { recursive: true })
  file = join(cli.home, 'config', 'gatewayctl', 'config.toml')
  writeFileSync(
    file,
    'base_url = "https://gateway.example"\n[upstream]\nconnect_timeout = "3s"\n[smtp]\nurl = "smtp://me:hidden-word@mail.example:587"\nfrom = "a@b.example"\n',
  )
})
afterAll(() => cli.close())

interface Setting {
  readonly name: string
  readonly value: string | null
  readonly origin: string | null
}

const show = (env: Record<string, string> = {}) => {
  const { code, out } = cli.run(['config', 'show', '--json'], { env })
  expect(code).toBe(0)
  const settings = JSON.parse(out) as Setting[]
  return (name: string) => settings.find((setting) => setting.name === name)
}

test('variable, file, default and nothing, each with its origin, and no password', () => {
  const of = show({ GATEWAY_UPSTREAM_CONNECT_TIMEOUT: '7s', GATEWAY_LISTEN: '' })
  expect(of('upstream.connect_timeout')).toEqual({
    name: 'upstream.connect_timeout',
    value: '7s',
    origin: 'GATEWAY_UPSTREAM_CONNECT_TIMEOUT',
  })
  expect(of('base_url')).toEqual({
    name: 'base_url',
    value: 'https://gateway.example',
    origin: file,
  })
  expect(of('listen')).toEqual({ name: 'listen', value: '127.0.0.1:4140', origin: 'default' })
  expect(of('auth_url')).toEqual({ name: 'auth_url', value: null, origin: null })
  expect(of('smtp.url')).toMatchObject({ value: 'smtp://me:…@mail.example:587', origin: file })
  expect(of('data_dir')).toEqual({
    name: 'data_dir',
    value: cli.dataDir,
    origin: 'GATEWAY_DATA_DIR',
  })
  expect(cli.run(['config']).out).not.toContain('hidden-word')
  expect(show({ GATEWAY_SMTP_URL_FILE: '/run/secrets/smtp' })('smtp.url')).toEqual({
    name: 'smtp.url',
    value: '/run/secrets/smtp',
    origin: 'GATEWAY_SMTP_URL_FILE',
  })
  // There is no such variable.
  expect(show({ GATEWAY_STORE_FILE: '/run/secrets/store' })('store')?.origin).not.toBe(
    'GATEWAY_STORE_FILE',
  )
})

test('the table has the origin where it is asked for', () => {
  expect(cli.run(['config', 'show']).out).toContain('\nlisten\t127.0.0.1:4140\n')
  expect(cli.run(['config', 'show', '--origin']).out).toContain(
    '\nlisten\t127.0.0.1:4140\tdefault\n',
  )
  expect(cli.run(['config', 'show', '--origin', '--data-dir', '/elsewhere']).out).toContain(
    'data_dir\t/elsewhere\tflag\n',
  )
  writeFileSync(join(cli.home, 'ok.toml'), '')
  const relative = cli.run([
    'config',
    'show',
    '--origin',
    ...['--data-dir', 'other', '--config=ok.toml'],
  ])
  expect(relative.out).toContain(`data_dir\t${join(cli.home, 'other')}\tflag\n`)
  expect(relative.out).toContain(`config\t${join(cli.home, 'ok.toml')}\tflag\n`)
  const env = { GATEWAY_DATA_DIR: 'other', GATEWAY_CONFIG: './ok.toml' }
  const named = cli.run(['config', 'show', '--origin'], { env })
  expect(named.out).toContain(`data_dir\t${join(cli.home, 'other')}\tGATEWAY_DATA_DIR\n`)
  expect(named.out).toContain(`config\t${join(cli.home, 'ok.toml')}\tGATEWAY_CONFIG\n`)
})

test('a stated default changes nothing: what is shown is what serves', () => {
  const settings = cli.json<Setting[]>(['config', 'show'])
  const bare = readServeSettings(openContext({ config: '/dev/null' }, {}), {})
  for (const { name, value, origin } of settings) {
    if (origin !== 'default' || value === null) continue
    const variable = `GATEWAY_${name.replace('.', '_').toUpperCase()}`
    const stated = readServeSettings(
      openContext({ config: '/dev/null' }, { [variable]: value }),
      {},
    )
    expect([name, stated]).toEqual([name, bare])
  }
})

test('an unknown variable is reported, with a suggestion', () => {
  const env = { GATEWAY_LISTN: '127.0.0.1:1', GATEWAY_SOMETHING_ELSE: '1', GATEWAY_ASCII: '1' }
  expect(cli.run(['config', 'show'], { env }).err).toBe(
    '! GATEWAY_LISTN is set, but there is no such setting; did you mean GATEWAY_LISTEN?\n! GATEWAY_SOMETHING_ELSE is set, but there is no such setting\n',
  )
  expect(cli.run(['config', 'show']).err).toBe('')
})

test('every variable that the sources name is known', async () => {
  const root = join(import.meta.dirname, '..', '..')
  const named = new Set<string>()
  for await (const path of new Bun.Glob('{cli,server,db}/**/*.{ts,tsx}').scan(root)) {
    for (const [name] of (await Bun.file(join(root, path)).text()).matchAll(
      /GATEWAY_[A-Z_]*[A-Z]\b(?!_)/g,
    )) {
      named.add(name)
    }
  }
  named.delete('GATEWAY_VERSION')
  expect([...named].filter((name) => !VARIABLES.includes(name))).toEqual([])
})

test('check reads a file as serve would, the environment aside', () => {
  expect(cli.run(['config', 'check'])).toEqual({
    code: 0,
    out: 'base_url\nupstream.connect_timeout\nsmtp.url\nsmtp.from\n',
    err: `✓ ${file}: 4 settings\n`,
  })
  const wrong = (text: string) => {
    writeFileSync(join(cli.home, 'other.toml'), text)
    const { code, out, err } = cli.run(['config', 'check', 'other.toml'], {
      env: { GATEWAY_LISTEN: '127.0.0.1:4140' },
    })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    return err
  }
  expect(wrong('\nlisen = "x"')).toContain(
    'other.toml:2: there is no setting "lisen"\n  did you mean listen?',
  )
  expect(wrong('listen = "nowhere:at-all"')).toContain('listen must be host:port')
  expect(wrong('listen = 4140')).toContain('listen must be a text in quotes')
  expect(wrong('[smtp]\nurl = "smtp://mail.example"')).toContain('no sender address')
  expect(cli.run(['config', 'check', 'missing.toml']).code).toBe(1)
  const none = cli.run(['config', 'check'], { env: { XDG_CONFIG_HOME: join(cli.home, 'none') } })
  expect([none.code, none.err]).toEqual([0, expect.stringContaining('the defaults apply')])
})

test('path prints the path alone', () => {
  expect(cli.run(['config', 'path'])).toEqual({ code: 0, out: `${file}\n`, err: '' })
  const env = { XDG_CONFIG_HOME: join(cli.home, 'none') }
  expect(cli.run(['config', 'path'], { env })).toEqual({
    code: 0,
    out: `${join(cli.home, 'none', 'gatewayctl', 'config.toml')}\n`,
    err: '! this file does not exist: the defaults apply\n',
  })
})

const NAMED = ['serve', 'keys list', 'status', 'config path']

test('every command refuses a named file that is missing, as serve does', () => {
  const missing = join(cli.home, 'missing.toml')
  const refusal = {
    code: 1,
    out: '',
    err: `error: cannot read the configuration ${missing}: no such file or directory\nhint: create it, or name another with --config or GATEWAY_CONFIG\n`,
  }
  const every = FULL ? 1 : 4
  const commands = Object.entries(NOUNS)
    .flatMap(([noun, { verbs, command }]) =>
      command ? [[noun]] : Object.keys(verbs).map((verb) => [noun, verb]),
    )
    .filter((words, at) => at % every === 0 || NAMED.includes(words.join(' ')))
  const env = { GATEWAY_CONFIG: missing }
  const ended = commands.map((words) => [words.join(' '), cli.run(words, { env })] as const)
  // Missing arguments are refused first.
  const asked = ended.filter(([, { code }]) => code !== EXIT.usage)
  for (const [words, ending] of asked) expect([words, ending]).toEqual([words, refusal])
  const names = asked.map(([words]) => words)
  expect(names).toEqual(expect.arrayContaining(NAMED))
  expect(names.length).toBeGreaterThan(25 / every)
  expect(cli.run(['keys', '--config', missing])).toEqual(refusal)
  expect(cli.run(['serve', '--demo', '--config', missing])).toEqual(refusal)
})
