/** Output: every byte in its order, however slow the reader, and no fuss when it has left. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const PRINTER = join(import.meta.dirname, 'children/print-much.ts')
const LINES = 500_000
const WHOLE = `${Array.from({ length: LINES }, (_, n) => `${n}\n`).join('')}last\n`

const print = (shell: string) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ['bash', '-c', `set -o pipefail; ${shell}`, process.execPath, PRINTER, String(LINES)],
    { stdin: 'ignore' },
  )
  return { exitCode, out: stdout.toString(), err: stderr.toString() }
}

/** Makes the pipe answer "try again" instead of waiting, as a parent that reads it asynchronously does. */
const IMPATIENT = `perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY); exec @ARGV'`

/** Prints into a pipe that nobody holds the other end of. */
const UNREAD = `perl -e 'pipe(R, W); close R; open(STDOUT, ">&", \\*W); exec @ARGV'`

test.each([
  ['a pipe that is read late', '"$0" "$1" "$2" | (sleep 0.2; cat)'],
  ['a pipe that takes what it can and no more', `${IMPATIENT} "$0" "$1" "$2" | (sleep 0.2; cat)`],
  ['a file', 'file=$(mktemp); "$0" "$1" "$2" > "$file"; cat "$file"; rm "$file"'],
])('%s gets every byte, in order', (_, shell) => {
  const { exitCode, out, err } = print(shell)
  expect(out.length).toBe(WHOLE.length)
  expect(out === WHOLE).toBe(true)
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: 'done\n' })
})

test('a disk that is full is an error, not silence', () => {
  const { exitCode, err } = print('"$0" "$1" "$2" > /dev/full')
  expect(exitCode).not.toBe(0)
  expect(err).toContain('ENOSPC')
})

/** A directory for the tests of one group. `run` is a line of shell, in which `$0` is the program. */
function useShell() {
  let cli: CliHarness
  beforeAll(() => {
    cli = openCli()
    cli.run(['init'])
  })
  afterAll(() => cli.close())
  return {
    type: (args: string[]) => cli.run(args),
    run(command: string) {
      const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', command, BINARY], {
        cwd: cli.home,
        env: cli.env,
        stdin: 'ignore',
      })
      return { code: exitCode, err: stderr.toString() }
    },
  }
}

describe('a secret that cannot be delivered', () => {
  const { run } = useShell()
  const lost = (done: string, why: string, help: string) => ({
    code: 1,
    err: expect.stringMatching(
      new RegExp(`error: ${done}, but its secret is lost: ${why}.*\nhint: gatewayctl ${help}`),
    ),
  })

  test.each([
    [
      'keys create a -q >/dev/full',
      'created key a \\(key_\\w+\\)',
      'keys rotate key_\\w+ +or: gatewayctl keys revoke key_\\w+\n$',
    ],
    ['keys create b --json >/dev/full', 'created key b \\(key_\\w+\\)', 'keys rotate key_'],
    ['keys create c --env >/dev/full', 'created key c \\(key_\\w+\\)', 'keys rotate key_'],
    ['keys rotate default -q >/dev/full', 'rotated key default \\(key_\\w+\\)', 'keys rotate key_'],
    [
      'clients create w --redirect-uri https://w.example/cb >/dev/full',
      'created client w \\(w_\\w+\\)',
      'clients rotate-secret w_',
    ],
    [
      'init --data-dir other >/dev/full',
      'created key default \\(key_\\w+\\)',
      '--data-dir other keys rotate key_',
    ],
  ])('%s', (command, done, help) => {
    if (command.includes('--json')) {
      const { code, err } = run(`"$0" ${command}`)
      expect([code, JSON.parse(err)]).toEqual([
        1,
        {
          error: expect.objectContaining({
            code: 'secret_lost',
            hint: expect.stringContaining('keys rotate'),
          }),
        },
      ])
      return
    }
    expect(run(`"$0" ${command}`)).toEqual(
      lost(done, 'cannot write to standard output: ENOSPC', help),
    )
  })

  test('because its reader has left', () => {
    expect(run(`${UNREAD} "$0" keys create d -q`)).toEqual(
      lost('created key d .*', 'standard output is closed', 'keys rotate key_'),
    )
  })

  test.each([
    ['keys create e', 'created key e .*', 'keys rotate key_'],
    ['keys rotate default --json', 'rotated key default .*', 'keys rotate key_'],
    [
      'clients create v --redirect-uri https://v.example/cb',
      'created client v .*',
      'clients rotate-secret v_',
    ],
  ])('because standard output was closed before the start: %s', (command, done, help) => {
    const { code, err } = run(`"$0" ${command} >&-`)
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`${done}, but its secret is lost: standard output is closed`))
    expect(err).toContain(help)
    expect(err).not.toContain('hown once')
  })

  test('unless it is thrown away on purpose, or kept in a file', () => {
    expect(run('"$0" keys create f -q >/dev/null')).toEqual({ code: 0, err: '' })
    expect(run('"$0" keys create g -q --out g.key >&-').code).toBe(0)
  })

  test('other output is a plain write error', () => {
    expect(run('"$0" keys >/dev/full')).toEqual({
      code: 1,
      err: expect.stringMatching(/^error: cannot write to standard output: ENOSPC/),
    })
  })
})

describe('a change whose output cannot be written', () => {
  const { type, run } = useShell()
  const lose = (command: string) => run(`"$0" ${command} >/dev/full`)

  test.each([
    ['balance top-up 1', 'ledger list', ['balance', '-q'], '1.'],
    ['balance adjust +2 --note x -q --yes', 'ledger list', ['balance', '-q'], '3.'],
    ['accounts create acme', 'activity list --admin', ['accounts', 'list'], 'acme'],
    ['keys edit default --name web -q', 'activity list --admin', ['keys', 'list'], 'web'],
  ])('says that it was done: %s', (command, hint, look, seen) => {
    const done = command.split(' ').slice(0, 2).join(' ')
    expect(lose(command)).toEqual({
      code: 1,
      err: expect.stringMatching(
        new RegExp(
          `error: ${done} was carried out, but its output is lost: cannot write to standard output: ENOSPC.*\nhint: gatewayctl ${hint}\n$`,
        ),
      ),
    })
    expect(type(look).out).toContain(seen)
  })

  test('in JSON too', () => {
    const { code, err } = lose('balance top-up 1 --json')
    expect([code, JSON.parse(err)]).toEqual([
      1,
      {
        error: {
          code: 'output_lost',
          message: expect.stringContaining('balance top-up was carried out'),
          hint: 'gatewayctl ledger list',
          exit_code: 1,
        },
      },
    ])
  })

  test.each([
    ['a refused one', 'balance top-up 0'],
    ['one whose reference was applied before', 'balance top-up 1 --ref r1'],
  ])('and %s, that nothing was', (_, command) => {
    run('"$0" balance top-up 1 --ref r1 -q >/dev/null')
    expect(lose(command).err).not.toContain('carried out')
  })
})

test('help that nobody reads is no error', () => {
  const shell = `${UNREAD} "$0" models price --help`
  const { exitCode, stderr } = Bun.spawnSync(['bash', '-c', shell, BINARY], { stdin: 'ignore' })
  expect({ exitCode, err: stderr.toString() }).toEqual({ exitCode: 0, err: '' })
})

test.each([
  ['that reads one line and leaves', '"$0" "$1" "$2" | head -n 1'],
  ['that was never there', '"$0" "$1" "$2" >&-'],
])('a reader %s is no error', (_, shell) => {
  const { err } = print(shell)
  expect(err).toBe('done\n')
})

test('a server keeps a bounded amount for a reader that is late, and says how many lines were lost', () => {
  const printer = join(import.meta.dirname, 'children/print-as-server.ts')
  const printed = join(tempDirectory(), 'printed')
  // 39 MB of lines, of which nothing is read before all are printed.
  const { exitCode, stdout } = Bun.spawnSync(
    [
      'bash',
      '-c',
      'set -o pipefail; "$0" "$1" "$2" "$3" | (until [ -e "$3" ]; do sleep 0.05; done; cat)',
      ...[process.execPath, printer, String(5_000_000), printed],
    ],
    { stdin: 'ignore', maxBuffer: 2 ** 26 },
  )
  expect(exitCode).toBe(0)
  const read = stdout.toString().trimEnd().split('\n')
  const [loss = '', last] = read.splice(-2)
  expect(last).toBe('last')
  expect(read.length + Number(/^lost (\d+)$/.exec(loss)?.[1])).toBe(5_000_000)
  expect(read.join('\n').length).toBeLessThan(2 * 2 ** 20)
  expect(read).toEqual(Array.from({ length: read.length }, (_, n) => String(n)))
})
