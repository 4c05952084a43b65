/** How commands end: exit codes, the shape of an error, and what never reaches standard output. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTypedFlags } from '#cli/terminal/typed-flags.ts'
import { BINARY } from '#scripts/compile.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'

let cli: CliHarness

beforeAll(() => {
  cli = openCli()
  cli.run(['init'])
  cli.run(['keys', 'create', 'prod-web'])
})
afterAll(() => cli.close())

test.each([
  [
    ['kyes'],
    2,
    'error: there is no command "kyes"\n  did you mean gatewayctl keys?\nhint: gatewayctl help\n',
  ],
  [
    ['keys', 'shwo'],
    2,
    'error: there is no command "keys shwo"\n  did you mean gatewayctl keys show?\nhint: gatewayctl keys --help\n',
  ],
  [
    ['keys', 'rm', 'x'],
    2,
    'error: there is no command "keys rm"\n  did you mean gatewayctl keys revoke?\nhint: gatewayctl keys --help\n',
  ],
  [
    ['providers', 'create'],
    2,
    'error: there is no command "providers create"\n  did you mean gatewayctl providers add?\nhint: gatewayctl providers --help\n',
  ],
  [
    ['logs'],
    2,
    'error: there is no command "logs"\n  did you mean gatewayctl activity tail?\nhint: gatewayctl help\n',
  ],
  [
    ['version'],
    2,
    'error: there is no command "version"\n  did you mean gatewayctl --version?\nhint: gatewayctl help\n',
  ],
  [
    ['list', 'keys'],
    2,
    'error: there is no command "list"\n  did you mean gatewayctl keys list?\nhint: gatewayctl help\n',
  ],
  [
    ['rm', 'key', 'x'],
    2,
    'error: there is no command "rm"\n  did you mean gatewayctl keys revoke?\nhint: gatewayctl help\n',
  ],
  [
    ['top-up', '5'],
    2,
    'error: there is no command "top-up"\n  did you mean gatewayctl balance top-up?\nhint: gatewayctl help\n',
  ],
  [
    ['serve', '--listen', 'x'],
    2,
    'error: --listen must be host:port such as 127.0.0.1:4140 (got "x")\n',
  ],
  [
    ['providers', 'edit', 'a b'],
    2,
    "error: no change given\nhint: gatewayctl providers edit 'a b' --key-file -\n",
  ],
  [
    ['export', '--out', '/nowhere/x'],
    1,
    'error: cannot write /nowhere/x: no such file or directory\n',
  ],
  [['apply', '-f', 'nofile'], 1, 'error: cannot read nofile: no such file or directory\n'],
  [
    ['config', 'check', 'nofile'],
    1,
    'error: cannot read the configuration nofile: no such file or directory\n',
  ],
  [
    ['keys', 'prod web'],
    2,
    'error: there is no command "keys prod web"\nhint: gatewayctl keys --help        or: gatewayctl keys show \'prod web\'\n',
  ],
  [
    ['models', 'demo/*'],
    2,
    'error: there is no command "models demo/*"\nhint: gatewayctl models --help        or: gatewayctl models list \'demo/*\'\n',
  ],
  [
    ['limits', 'set', 'prod web', 'ci', '--rpm', '0'],
    2,
    'error: --rpm must be a whole number of at least 1, or "none" (got "0")\nhint: to stop a key from working: gatewayctl keys revoke \'prod web\' ci\n',
  ],
  [
    ['limits', 'set', 'prod web', 'ci'],
    2,
    "error: no limit given\nhint: gatewayctl limits set 'prod web' ci --rpm 60\n",
  ],
  [
    ['keys', 'edit', 'prod web'],
    2,
    "error: no change given\nhint: gatewayctl keys edit 'prod web' --name NEW\n",
  ],
  [
    ['balance', 'adjust', '$20', '--note', 'n'],
    2,
    'error: the amount needs a sign, such as +2.50 or -2.50 (got "$20")\nhint: to add money: gatewayctl balance top-up \'$20\'\n',
  ],
  [
    ['keys', 'create', 'x', '--rmp', '3'],
    2,
    "error: unknown option '--rmp'\n  Did you mean --rpm?\nhint: gatewayctl keys create --help\n",
  ],
  [
    ['keys', 'create'],
    2,
    "error: missing required argument 'name'\nhint: gatewayctl keys create --help\n",
  ],
  [
    ['keys', '--kind', 'ordinry'],
    2,
    'error: --kind must be ordinary or provisioning (got "ordinry")\n  did you mean ordinary?\n',
  ],
  [
    ['keys', '--sort', 'size'],
    2,
    'error: --sort must be created, name, spend or last-used (got "size")\n',
  ],
  [
    ['ledger', '--kind', 'chrge'],
    2,
    'error: --kind must be charge, top_up, adjust or refund (got "chrge")\n  did you mean charge?\n',
  ],
  [
    ['usage', '--by', 'modl'],
    2,
    'error: --by must be account, key, user, model, provider, surface, day or hour (got "modl")\n  did you mean model?\n',
  ],
  [
    ['help', 'exitcode'],
    2,
    'error: there is no help on "exitcode"\n  did you mean gatewayctl help exit-codes?\nhint: gatewayctl help    topics: exit-codes, environment, json, first-run, openapi\n',
  ],
  [
    ['limits', 'set', 'prod-web', '--rpm', '0'],
    2,
    'error: --rpm must be a whole number of at least 1, or "none" (got "0")\nhint: to stop a key from working: gatewayctl keys revoke prod-web\n',
  ],
  [
    ['keys', 'create', 'x', '--rpm', '0'],
    2,
    'error: --rpm must be a whole number of at least 1, or "none" (got "0")\n',
  ],
  [
    ['keys', 'revoke', 'prod-web'],
    5,
    'error: refusing to revoke prod-web without confirmation (stdin is not a terminal)\nhint: gatewayctl keys revoke prod-web --yes\n',
  ],
  [
    ['keys', 'create', 'x', '--allow', 'a b'],
    2,
    'error: --allow must be a model id, "<provider>/*" or "*" (got "a b")\n',
  ],
  [['balance', 'top-up', '0'], 2, 'error: the amount must be more than nothing\n'],
  [['keys', 'show', ''], 2, 'error: the key must not be empty\n'],
  [['why', ''], 2, 'error: the id must not be empty\n'],
  [['limits', 'set', '', '--rpm', '1'], 2, 'error: the key must not be empty\n'],
  [
    ['keys', 'create', 'x', '--kind', 'provision'],
    2,
    'error: --kind must be ordinary or provisioning (got "provision")\n  did you mean provisioning?\n',
  ],
  [['usage', '--top', '99999999999'], 2, 'error: --top must be at most 10000 (got 99999999999)\n'],
  [
    ['ledger', '--limit', '99999999999999999999'],
    2,
    'error: --limit must be a whole number from 1 to 9007199254740991 (got "99999999999999999999")\n',
  ],
  [
    ['limits', 'set', 'prod-web', '--daily-usd', '99999999999999'],
    2,
    'error: --daily-usd must be a decimal amount of dollars such as "20.00", with at most 6 places and up to 9007199 (got "99999999999999")\n',
  ],
  [
    ['keys', 'create', 'x', '--allow', 'x/y*'],
    2,
    'error: --allow must be a model id, "<provider>/*" or "*" (got "x/y*")\n',
  ],
  [
    ['balance', 'top-up', '99999999'],
    2,
    'error: the amount must be dollars such as 20.00, with at most 9 places and up to 9007199, or an amount in rubles (got "99999999")\n',
  ],
  [
    ['balance', 'adjust', '-9999999999rub', '--note', 'x'],
    2,
    '  9999999999rub at 90 is $111111111.10\nerror: the amount must be dollars such as 20.00, with at most 9 places and up to 9007199, or an amount in rubles (got "9999999999rub")\n',
  ],
  [
    ['keys', 'create', 'x', '--rpm', '99999999999999999999'],
    2,
    'error: --rpm must be a whole number from 1 to 10000000, or "none" (got "99999999999999999999")\n',
  ],
  [
    ['models', 'show', 'demo/ecko'],
    3,
    'error: no model is called "demo/ecko"\n  did you mean demo/echo?\nhint: gatewayctl models list\n',
  ],
  [
    ['providers', 'show', 'dmeo'],
    3,
    'error: no provider is called "dmeo"\n  did you mean demo?\nhint: gatewayctl providers list\n',
  ],
  [
    ['models', 'list', '--provider', 'dmeo'],
    3,
    'error: no provider is called "dmeo"\n  did you mean demo?\nhint: gatewayctl providers list\n',
  ],
  [
    ['models', 'add', 'acme/x'],
    3,
    'error: no provider is called "acme"\nhint: gatewayctl providers list\n',
  ],
  [
    ['help', 'nothing'],
    2,
    'error: there is no help on "nothing"\nhint: gatewayctl help    topics: exit-codes, environment, json, first-run, openapi\n',
  ],
])('%j ends with %i and says why', (args, code, err) => {
  expect(cli.run(args)).toEqual({ code, out: '', err })
})

test.each([
  [['keys', 'create', 'a\nb'], 'without line breaks and other control characters'],
  [['keys', 'create', '\u001b[2Jx'], 'without line breaks and other control characters'],
  [
    ['keys', 'create', 'x', '--note', 'a\u001b[2J'],
    'no line breaks and no other control characters',
  ],
  [['keys', 'edit', 'prod-web', '--name', 'a\nb'], 'without line breaks'],
  [['accounts', 'create', 'a\nb'], 'without line breaks'],
  [['clients', 'create', 'a\nb', '--redirect', 'https://w.example/cb'], 'without line breaks'],
  [['balance', 'top-up', '1', '--note', 'a\nb'], 'no line breaks'],
  [['balance', 'top-up', '1', '--ref', 'a\u0007'], 'no line breaks'],
])('%j holds a control character, and is refused', (args, why) => {
  const { code, out, err } = cli.run(args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(why)
})

test('a similar key name is suggested with its id', () => {
  const { code, err } = cli.run(['keys', 'show', 'prodweb'])
  expect(code).toBe(3)
  expect(err).toMatch(
    /^error: no key is called "prodweb"\n {2}did you mean prod-web \(key_\w+\)\?\n/,
  )
})

test('with --json an error is one object on standard error', () => {
  const { code, out, err } = cli.run(['--json', 'keys', 'show', 'zzz'])
  expect([code, out]).toEqual([3, ''])
  expect(JSON.parse(err)).toEqual({
    error: {
      code: 'key_not_found',
      message: 'no key is called "zzz"',
      hint: 'gatewayctl keys list',
      exit_code: 3,
    },
  })
})

describe('secrets in arguments', () => {
  test('a whole key is refused wherever it stands, and not repeated', () => {
    const secret = cli.run(['keys', 'create', 'leaky']).out.trim()
    for (const args of [
      ['keys', 'show', secret],
      ['limits', 'set', 'x', `--note=${secret}`],
    ]) {
      const { code, out, err } = cli.run(args)
      expect([code, out]).toEqual([2, ''])
      expect(err).toContain('it is now in your shell history')
      expect(err).not.toContain(secret)
    }
    const shown = cli.run(['keys', 'show', '--secret-stdin', '-q'], { stdin: `${secret}\n` })
    expect(shown.out).toMatch(/^key_\w+\n$/)
  })

  test.skipIf(!hasTerminals)('at a terminal it is asked for, and not shown', async () => {
    const secret = cli.run(['keys', 'create', 'typed', '-q']).out.trim()
    const terminal = openTerminal(cli, 'stty cols 80 rows 24; gatewayctl keys show --secret-stdin')
    await terminal.says('secret of the key')
    terminal.type(`${secret}\r`)
    expect(await terminal.exited).toBe(0)
    expect(terminal.shown()).toContain('typed')
    expect(terminal.shown()).not.toContain(secret)
    expect(cli.run(['keys', 'show', '--secret-stdin'])).toEqual({
      code: 2,
      out: '',
      err: 'error: no secret on standard input\nhint: gatewayctl keys show --secret-stdin < file\n',
    })
  })

  test('no flag takes a credential', () => {
    const { code, err } = cli.run(['providers', 'add', 'acme', '--key', 'sk-secret'])
    expect(code).toBe(2)
    expect(err).not.toContain('sk-secret')
  })
})

test('a stack is printed only with --debug', () => {
  expect(cli.run(['keys', 'show', 'zzz']).err).not.toMatch(/\bat \w+ \(/)
  expect(cli.run(['keys', 'show', 'zzz', '--debug']).err).toContain('GatewayError')
})

describe('without a gateway', () => {
  const bare = openCli()
  afterAll(() => bare.close())

  test('a command says how to make one, and makes nothing', () => {
    const { code, err } = bare.run(['keys', 'list'])
    expect(code).toBe(1)
    expect(err).toBe(`error: there is no gateway in ${bare.dataDir}\nhint: gatewayctl init\n`)
    expect(bare.run(['status'])).toMatchObject({ code: 4, out: '' })
    expect(bare.run(['status', '-q'])).toEqual({ code: 4, out: '', err: '' })
  })

  test('an empty database is none, of which no command but init makes one', () => {
    const empty = openCli()
    const database = join(empty.dataDir, 'gateway.db')
    mkdirSync(empty.dataDir, { recursive: true })
    writeFileSync(database, '')
    for (const command of [['keys', 'list'], ['backup'], ['audit']]) {
      const { code, err } = empty.run(command)
      expect(code).toBe(1)
      expect(err).toContain(`there is no gateway in ${empty.dataDir}: gateway.db there is empty`)
      expect(statSync(database).size).toBe(0)
    }
    expect(empty.run(['status']).code).toBe(4)
    expect(empty.run(['init', '--no-input']).code).toBe(0)
    empty.close()
  })
})

describe('hints repeat the location and account of the typed command', () => {
  const ownCli = openCli()
  const stated = `--data-dir '${join(ownCli.home, 'other place')}'`
  const elsewhere = ['--data-dir', join(ownCli.home, 'other place')]
  beforeAll(() => {
    expect(ownCli.run(['init', ...elsewhere]).err).toContain(`next: gatewayctl ${stated} serve\n`)
    ownCli.run(['accounts', 'create', 'team', ...elsewhere])
  })
  afterAll(() => ownCli.close())

  test.each([
    [
      ['balance', 'adjust', '-5', '--note', "it's a gift", '--account', 'team'],
      `gatewayctl balance adjust -5 --note 'it'\\''s a gift' --account team ${stated} --yes`,
    ],
    [['keys', 'revoke', 'default'], `gatewayctl keys revoke default ${stated} --yes`],
    [['init', '--force', '--yes'], `gatewayctl init --force --yes ${stated} --confirm gateway.db`],
    [
      ['init', '--force', '--confirm', 'gateway'],
      `gatewayctl init --force ${stated} --confirm gateway.db`,
    ],
    [['keys', 'show', 'zz', '--account', 'team'], `gatewayctl ${stated} --account team keys list`],
    [
      ['keys', '--account=nobody', '--config=/dev/null'],
      `gatewayctl ${stated} --config /dev/null accounts list`,
    ],
    [['dashboard', '--once'], `gatewayctl ${stated} serve`],
    [['kyes'], 'gatewayctl help'],
  ])('%j', (args, hint) => {
    const { err } = ownCli.run([...args, ...elsewhere])
    expect(err.split('\n').find((line) => line.startsWith('hint: '))).toBe(`hint: ${hint}`)
  })

  test('hints can be pasted', () => {
    const { err } = ownCli.run([
      ...['balance', 'adjust', '-5', '--note', "it's a gift", '--account', 'team'],
      ...elsewhere,
    ])
    const hint = /^hint: gatewayctl (.*)$/m.exec(err)?.[1] ?? ''
    const pasted = Bun.spawnSync(['sh', '-c', `"${BINARY}" ${hint}`], {
      cwd: ownCli.home,
      env: ownCli.env,
    })
    expect(pasted.stderr.toString()).toContain('adjusted by -$5.00')
    const balanceOf = (account: string): string =>
      ownCli.json<{ balance_usd: string }>(['balance', '--account', account, ...elsewhere])
        .balance_usd
    expect([balanceOf('team'), balanceOf('default')]).toEqual(['-5.00', '0'])
  })

  test('doctor suggests the same commands in text and JSON', () => {
    const { out } = ownCli.run(['doctor', '--json', ...elsewhere])
    const { findings } = JSON.parse(out) as { findings: { check: string; next: string | null }[] }
    const rate = findings.find(({ check }) => check === 'rate')?.next ?? ''
    expect(rate).toMatch(`gatewayctl ${stated} rates set `)
    expect(ownCli.run(['doctor', ...elsewhere]).out).toContain(`next: ${rate}\n`)
  })

  test('a hint with its own account keeps it', () => {
    expect(
      withTypedFlags('next: gatewayctl balance top-up 50 --account crew', [
        ...['keys', '--account', 'team'],
        ...elsewhere,
      ]),
    ).toBe(`next: gatewayctl ${stated} balance top-up 50 --account crew`)
  })
})
