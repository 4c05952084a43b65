/** Missing permissions are reported as such, and not as a crash, a missing gateway or a missing key. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

/** Root may do everything; as root one is somebody else, who owns nothing. Otherwise one's own files are closed to oneself. */
const isRoot = process.getuid?.() === 0
const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
const AS = isRoot ? NOBODY : []

const isPossible = (): boolean => {
  if (!isRoot) return true
  if (Bun.which('setpriv') === null) return false
  return Bun.spawnSync([...AS, BINARY, '--version']).exitCode === 0
}
const skips = !isPossible()
if (skips) console.warn('permissions: skipped, nobody else can run the binary here')

let cli: CliHarness
beforeAll(() => {
  cli = openCli()
  // Whoever else comes may pass, and look around, but not write.
  chmodSync(cli.home, 0o755)
  cli.run(['init'])
  writeFileSync(join(cli.home, 'file'), '')
  mkdirSync(join(cli.home, 'ro'), { mode: 0o555 })
})
afterAll(() => {
  chmodSync(cli.dataDir, 0o700)
  chmodSync(join(cli.home, 'ro'), 0o755)
  cli.close()
})

function run(...args: readonly string[]) {
  const ended = Bun.spawnSync([...AS, BINARY, ...args], {
    cwd: cli.home,
    env: { ...cli.env, XDG_RUNTIME_DIR: '' },
    timeout: 15_000,
  })
  return { code: ended.exitCode, out: ended.stdout.toString(), err: ended.stderr.toString() }
}

describe.skipIf(skips)('another user', () => {
  test.each(['init', 'serve'])('%s in a place where nothing may be made', (verb) => {
    const place = join(cli.home, 'ro', 'x')
    expect(run(verb, '--data-dir', place)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^error: cannot create .*\/ro\/x.*: permission denied\nhint: ls -ld .*\/ro\n$/,
      ),
    })
    expect(run(verb, '--data-dir', join(cli.home, 'file')).err).toMatch(
      /^error: cannot create .*\/file: a file with this name exists\n/,
    )
    expect(run(verb, '--data-dir', join(cli.home, 'file', 'x'))).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^error: cannot create .*\/file\/x.*: a part of this path is a file\nhint: /,
      ),
    })
  })

  const refused = (place: string) =>
    expect.stringMatching(
      new RegExp(
        `^error: cannot open ${place}: permission denied\nhint: (run this command as the owner of|ls -ld) `,
      ),
    )

  test('a backup into a directory that is closed names the backup', () => {
    chmodSync(cli.dataDir, 0o755)
    expect(run('backup', join(cli.home, 'ro')).err).toMatch(
      /^error: cannot write .*\/ro\/gateway-\w+\.db: permission denied\n$/,
    )
  })

  test.each([['keys'], ['init'], ['backup']])('%s on a closed directory', (...args) => {
    chmodSync(cli.dataDir, isRoot ? 0o700 : 0o000)
    const ended = run(...args)
    expect(ended).toEqual({ code: 1, out: '', err: refused(join(cli.dataDir, 'gateway.db')) })
  })

  test.each([
    ['activity', 'tail'],
    ['dashboard', '--once'],
  ])('%s %s on a closed directory', (...args) => {
    chmodSync(cli.dataDir, isRoot ? 0o700 : 0o000)
    const socket = join(cli.dataDir, 'run', 'admin.sock')
    expect(run(...args)).toEqual({ code: 1, out: '', err: refused(socket) })
  })

  test('for an unreadable master key no new key is suggested', () => {
    chmodSync(cli.dataDir, 0o755)
    chmodSync(join(cli.dataDir, 'master.key'), isRoot ? 0o600 : 0o000)
    const key = join(cli.dataDir, 'master.key')
    const served = run('serve', '--listen', '127.0.0.1:0', '--auth-listen', 'off')
    expect(served).toEqual({
      code: 1,
      out: '',
      err: refused(key),
    })
    const { code, out } = run('doctor')
    expect([code, out]).toEqual([
      6,
      expect.stringContaining(`✖ cannot open ${key}: permission denied`),
    ])
    expect(out).not.toContain('urandom')
    chmodSync(join(cli.dataDir, 'master.key'), 0o600)
  })
})

test('a new master key is suggested only for a new gateway', () => {
  chmodSync(cli.dataDir, 0o700)
  const missing = { env: { GATEWAY_MASTER_KEY_FILE: join(cli.home, 'none') } }
  const elsewhere = ['--data-dir', join(cli.home, 'new')]
  expect(cli.run(['init', ...elsewhere], missing).err).toContain('hint: head -c 32 /dev/urandom')
  expect(cli.run(['doctor'], missing).err).toMatch(
    /^error: no such master key file: .*\/none\nhint: restore the master key/,
  )
})
