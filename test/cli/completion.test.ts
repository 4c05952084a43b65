/** Completion: what may come next, asked of the program, and the scripts in the shells themselves, with a key that is pressed. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { COMMANDS, commandOf, helpPages } from '#test/support/help-pages.ts'
import { hasTerminals, openTerminal, type Terminal } from '#test/support/terminal.ts'
import { FULL } from '#test/support/tier.ts'

let cli: CliHarness
/** Another one, with the odd names. */
let odd: CliHarness
beforeAll(() => {
  cli = openCli()
  cli.run(['init'])
  for (const name of ['prod-web', 'prod-api', 'evil']) cli.run(['keys', 'create', name])
  // No form takes such a name any more; a database of before may hold one.
  const store = new Database(join(cli.dataDir, 'gateway.db'))
  store.run("UPDATE keys SET name = 'evil\u001b[2J' WHERE name = 'evil'")
  store.close()
  cli.run(['accounts', 'create', 'acme'])
  cli.run(['users', 'add', 'ann@example.org'])
  cli.run(['clients', 'create', 'wiki', '--redirect', 'https://wiki.example.org/callback'])
  writeFileSync(join(cli.home, 'only-this.db'), '')
  odd = openCli()
  odd.run(['init'])
  for (const [name] of ODD) odd.run(['keys', 'create', '--', name])
  writeFileSync(join(odd.home, 'a file.db'), '')
})
afterAll(() => {
  cli.close()
  odd.close()
})

/** Keys with names that a shell would split, expand or run, each with the beginning of it as it may be typed. */
const ODD: readonly (readonly [name: string, ...typed: string[]])[] = [
  ['my key', 'my', "'my k", '"my k', 'my\\ k'],
  ["it's one's", 'it', "'it", '"it\'s o', "it\\'s\\ o"],
  ['"quoted" x', '\\"q', '\'"q', '"\\"q'],
  ['a$(touch ran)b', 'a', "'a$(", '"a\\$('],
  ['`touch ran`', '\\`', "'`t"],
  ['; touch ran', '\\;', "';", '"; t'],
  ['dir\\x $HOME', 'dir', "'di", '"di'],
  ['!bang !!', '\\!', "'!"],
  ['~ x* {a,b}', '\\~', "'~", '"~'],
  ["ends'", 'en', "'en", '"en'],
  ['back\\', 'ba', "'ba", '"ba'],
  ['tail"', 'ta', "'ta", '"ta'],
  ['co:lon =x', 'co', 'co:', "'co:", '"co:l'],
  ['über größe', 'ü', "'über g", '"ü'],
]

/** What may become of the last word. */
const offered = (...words: string[]): string[] => {
  const { code, out, err } = cli.run(['__complete', '--', ...words])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] ?? '')
}

test.each([
  [['ke'], ['keys']],
  [['keys', 's'], ['show']],
  [['--json', 'keys', 's'], ['show']],
  [
    ['keys', 'show', 'prod'],
    ['prod-api', 'prod-web'],
  ],
  [['keys', 'show', 'prod-web', ''], []],
  [['keys', 'revoke', 'prod-web', 'prod-a'], ['prod-api']],
  [['limits', 'prod-a'], []],
  [['keys', 'show', '--sec'], ['--secret-stdin']],
  [['keys', '--sort', 'n'], ['name']],
  [['keys', 'list', '--sort=n'], ['--sort=name']],
  [['activity', 'tail', '--key', 'prod-a'], ['prod-api']],
  [['models', 'show', 'demo/e'], ['demo/echo']],
  [
    ['keys', 'create', 'new', '--allow', 'demo/'],
    ['demo/*', 'demo/echo', 'demo/flaky', 'demo/image', 'demo/lorem'],
  ],
  [['keys', 'create', ''], []],
  [['providers', 'test', ''], ['demo']],
  [['models', 'route', 'demo/echo', '--via', ''], ['demo']],
  [['users', 'show', ''], ['ann@example.org']],
  [['balance', '--account', 'ac'], ['acme']],
  [['--account', 'ac'], ['acme']],
  [['accounts', 'show', 'ac'], ['acme']],
  [['usage', '--by', 'mo'], ['model']],
  [
    ['dashboard', '--screen', ''],
    ['live', 'keys', 'models', 'spend', 'log', 'trend'],
  ],
  [['dashboard', '--screen=s'], ['--screen=spend']],
  [
    ['deliveries', 'list', '--state', ''],
    ['pending', 'delivered', 'dead'],
  ],
  [
    ['deliveries', 'redeliver', 'evt_1', ''],
    ['email', 'webhook'],
  ],
  [
    ['identities', 'add', 'own', '--type', ''],
    ['oidc', 'github'],
  ],
  [
    ['models', 'add', 'demo/x', '--kind', ''],
    ['generate', 'embed', 'rerank'],
  ],
  [['models', '--surface', 'm'], ['messages']],
  [
    ['clients', 'edit', 'wiki', '--pkce', ''],
    ['required', 'optional'],
  ],
  [['rates', 'set', ''], ['USD/RUB']],
  [['rates', 'set', 'USD/RUB', ''], []],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', 'powershell'],
  ],
  [
    ['completion', '""'],
    ['bash', 'zsh', 'fish', 'powershell'],
  ],
  [['backup', '--restore', ''], [':files']],
  [['--data-dir', ''], [':files']],
  [['no-such-noun', ''], []],
  [['keys', 'show', '--data-dir', '/nowhere', ''], []],
])('%j', (words, expected) => {
  expect(offered(...words)).toEqual(expected)
})

test('names with control characters are not offered, and no secret is', () => {
  expect(offered('keys', 'show', '')).toEqual(['prod-api', 'prod-web', 'default'])
  const { out } = cli.run(['__complete', '--', 'clients', 'show', ''])
  expect(out).toMatch(/^wiki_\w+\twiki\n$/)
})

test('names with blanks are offered; those that would be flags are not', () => {
  for (const name of ['--yes', '-q', ':files']) odd.run(['keys', 'create', '--', name])
  const { out } = odd.run(['__complete', '--', 'keys', 'show', ''])
  const names = out.split('\n').map((line) => line.split('\t')[0])
  expect(names.toSorted()).toEqual(['', 'default', ...ODD.map(([name]) => name)].toSorted())
})

/** Each costs a process. */
const EVERY = FULL ? 1 : 4

test('every command can be completed, and every flag of its page is offered', () => {
  let seen = 0
  const pages = helpPages(COMMANDS)
  for (const noun of offered('')) {
    if (noun === 'help') continue
    for (const verb of offered(noun, '').filter((word) => /^[a-z-]+$/.test(word))) {
      if (seen++ % EVERY > 0) continue
      const page = pages.get(commandOf([noun, verb]))
      if (page === undefined) continue
      const flags = [...page.out.matchAll(/^ {2}(?:-\w, )?(--[a-z\d-]+)/gm)].map(([, flag]) => flag)
      expect([noun, verb, offered(noun, verb, '--')]).toEqual([
        noun,
        verb,
        expect.arrayContaining(flags),
      ])
    }
  }
  expect(seen).toBeGreaterThan(60)
})

test('it opens no store: it answers while another process has the directory', () => {
  const other = cli.run(['__complete', '--', 'keys', 'show', 'prod'], {
    env: { GATEWAY_ADMIN_SOCKET: '/nowhere' },
  })
  expect(other.out).not.toBe('')
  expect(cli.run(['completion', 'bsh'])).toEqual({
    code: 2,
    out: '',
    err: 'error: there is no completion for "bsh"\n  did you mean bash?\nhint: known: bash, zsh, fish, powershell\n',
  })
})

/** Fifty lines in a shell. */
const LONG_MS = 60_000

const has = (program: string): boolean => Bun.which(program) !== null

const LINES: readonly (readonly [typed: string, comesToPass: string])[] = [
  ['gatewayctl keys sho\t prod-w\t --js\t\n', '"name": "prod-web"'],
  ['gatewayctl usage report --by=mo\t --json\n', '"by": "model"'],
  ['gatewayctl users show ann@e\t --json\n', '"email": "ann@example.org"'],
  ['gatewayctl backup --restore only\t\n', 'only-this.db is no database of a gateway'],
]

/** Completes each of the odd names in each of its beginnings; nothing that they hold is run. */
async function completesOddNames(shell: Terminal): Promise<void> {
  await shell.says('ready> ')
  let at = 0
  for (const [name, ...beginnings] of ODD) {
    for (const typed of beginnings) {
      const file = join(odd.home, `${++at}.json`)
      shell.type(`gatewayctl keys show ${typed}\t --json > ${at}.json\n`)
      const found = (): unknown => JSON.parse(readFileSync(file, 'utf8')).name
      await until(() => existsSync(file) && readFileSync(file).length > 0, `${typed}: ${name}`)
      expect([typed, found()]).toEqual([typed, name])
    }
  }
  for (const typed of ['a\\ f', "'a f"]) {
    shell.type(`gatewayctl backup --restore ${typed}\t 2> ${++at}.txt\n`)
    const said = join(odd.home, `${at}.txt`)
    await until(
      () => existsSync(said) && readFileSync(said, 'utf8').includes('a file.db is no'),
      typed,
    )
  }
  expect(existsSync(join(odd.home, 'ran'))).toBe(false)
}

describe.skipIf(!hasTerminals)('in a terminal', () => {
  test.skipIf(!has('bash'))(
    'bash completes words, values behind =, addresses and files',
    async () => {
      const rc = join(cli.home, 'bashrc')
      writeFileSync(rc, 'PS1="ready> "\nsource <(gatewayctl completion bash)\n')
      const shell = openTerminal(cli, `bash --rcfile ${rc} -i`)
      await shell.says('ready> ')
      for (const [typed, comesToPass] of LINES) {
        shell.type(typed)
        await shell.says(comesToPass)
      }
      await completesOddNames(openTerminal(odd, `bash --rcfile ${rc} -i`))
    },
    LONG_MS,
  )

  test.runIf(FULL && has('zsh'))(
    'zsh completes words, addresses and files',
    async () => {
      const zdotdir = join(cli.home, 'zsh')
      mkdirSync(zdotdir)
      const rc = [
        'PS1="ready> "',
        `fpath=(${zdotdir} $fpath)`,
        `gatewayctl completion zsh > ${zdotdir}/_gatewayctl`,
        'autoload -U compinit && compinit -u',
      ]
      writeFileSync(join(zdotdir, '.zshrc'), `${rc.join('\n')}\n`)
      const shell = openTerminal(cli, 'zsh -i', { ZDOTDIR: zdotdir })
      await shell.says('ready> ')
      for (const [typed, comesToPass] of LINES) {
        shell.type(typed)
        await shell.says(comesToPass)
      }
      await completesOddNames(openTerminal(odd, 'zsh -i', { ZDOTDIR: zdotdir }))
    },
    LONG_MS,
  )

  test.runIf(FULL && has('fish'))(
    'fish completes odd names',
    async () => {
      const config = join(odd.home, 'config', 'fish')
      mkdirSync(config, { recursive: true })
      const rc = [
        "function fish_prompt; printf 'ready> '; end",
        'set -g fish_autosuggestion_enabled 0',
        'gatewayctl completion fish | source',
      ]
      writeFileSync(join(config, 'config.fish'), `${rc.join('\n')}\n`)
      await completesOddNames(openTerminal(odd, 'fish -i'))
    },
    LONG_MS,
  )
})

test.skipIf(!has('fish'))('fish is told words and what they are', () => {
  const ask = (line: string): string =>
    Bun.spawnSync(
      ['fish', '--no-config', '-c', `gatewayctl completion fish | source; complete -C '${line}'`],
      { cwd: cli.home, env: { ...cli.env, PATH: `${dirname(BINARY)}:${cli.env['PATH']}` } },
    ).stdout.toString()
  expect(ask('gatewayctl keys show prod-')).toMatch(/^prod-api\tif-\S+\nprod-web\tif-\S+\n$/)
  expect(ask('gatewayctl keys sho')).toMatch(/^show\tshow one key/)
  expect(ask('gatewayctl users show ')).toBe('ann@example.org\n')
  expect(ask('gatewayctl backup --restore only')).toContain('only-this.db')
})
