// What is installed beside the binary: units that systemd takes, well locked up, and an image that asks the gateway how it is.
import { dlopen, ptr } from 'bun:ffi'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { CONFIG } from '#scripts/release/image.ts'
import { furnishCli, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import project from '../../package.json' with { type: 'json' }

const UNIT = 'docs/install/gatewayctl.service'
const unit = readFileSync(UNIT, 'utf8')
const analyze = Bun.which('systemd-analyze')
if (!analyze) console.warn('systemd-analyze: skipped, not on the PATH')

const installed = (text = unit): string => {
  const path = join(tempDirectory(), 'gatewayctl.service')
  writeFileSync(path, text.replaceAll('/usr/local/bin/gatewayctl', BINARY))
  return path
}

const ask = (...args: readonly string[]) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([analyze ?? '', ...args])
  return { exitCode, said: `${stdout}${stderr}` }
}

describe.skipIf(!analyze)('the unit', () => {
  test('is taken by systemd without a word', () => {
    expect(ask('verify', '--man=no', installed())).toEqual({ exitCode: 0, said: '' })
  })

  test('of the backup, and its timer, are taken too', () => {
    const directory = tempDirectory()
    const service = join(directory, 'gatewayctl-backup.service')
    const text = readFileSync('docs/install/gatewayctl-backup.service', 'utf8')
    writeFileSync(service, text.replaceAll('/usr/local/bin/gatewayctl', BINARY))
    const timer = join(directory, 'gatewayctl-backup.timer')
    copyFileSync('docs/install/gatewayctl-backup.timer', timer)
    expect(ask('verify', '--man=no', service, timer)).toEqual({ exitCode: 0, said: '' })
  })

  test('exposes little: at most 2.0 of 10', () => {
    const { exitCode, said } = ask('security', '--offline=true', '--threshold=20', installed())
    expect(said).toMatch(/Overall exposure level for gatewayctl.service: [01]\.\d OK/)
    expect(exitCode).toBe(0)
    const open = installed(
      unit.replace(/^(Protect|Restrict|Private|SystemCall|Capability).*\n/gm, ''),
    )
    expect(ask('security', '--offline=true', '--threshold=20', open).exitCode).not.toBe(0)
  })
})

const settingOf = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

test('streams in progress have time to end, and the compiler may compile', () => {
  const drain = /--drain (\d+)s/.exec(settingOf('ExecStart'))?.[1]
  expect(Number(settingOf('TimeoutStopSec'))).toBeGreaterThan(Number(drain))
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m)
  expect(settingOf('UnsetEnvironment')).toMatch(/^BUN_OPTIONS BUN_BE_BUN HTTP_PROXY HTTPS_PROXY/)
})

/** What systemd would hear at `path`, as far as it has arrived. */
function supervise(path: string): () => string {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
  })
  const [unix, datagrams, atOnce] = [1, 2, 0x40]
  const socket = symbols.socket(unix, datagrams, 0)
  const address = Buffer.concat([new Uint8Array(Uint16Array.of(unix).buffer), Buffer.from(path)])
  symbols.bind(socket, ptr(address), address.length)
  let heard = ''
  return () => {
    const word = Buffer.alloc(1_000)
    for (;;) {
      const length = Number(symbols.recv(socket, ptr(word), word.length, atOnce))
      if (length <= 0) return heard
      heard += `${word.toString('utf8', 0, length)}\n`
    }
  }
}

test.runIf(process.platform === 'linux')(
  'a reload, typed as the unit has it, puts a new process in the place of the old, and systemd hears of both',
  async () => {
    const cli = furnishCli(openCli())
    const heard = supervise(join(cli.home, 'notify.sock'))
    const env = {
      ...cli.env,
      GATEWAY_PROCESSES: '2',
      GATEWAY_LISTEN: `127.0.0.1:${freePort()}`,
      GATEWAY_AUTH_LISTEN: 'off',
      NOTIFY_SOCKET: join(cli.home, 'notify.sock'),
    }
    const type = (setting: string) => {
      const [, ...args] = settingOf(setting).split(' ')
      return Bun.spawn([BINARY, ...args], { cwd: cli.home, env, stdio: ['ignore', 'ignore', 2] })
    }
    const first = type('ExecStart')
    await until(() => heard().includes(`READY=1\nMAINPID=${first.pid}`), 'it is ready')
    expect(await type('ExecReload').exited).toBe(0)
    expect(await first.exited).toBe(0)
    const { pid } = cli.json<{ pid: number }>(['status'])
    expect(pid).not.toBe(first.pid)
    expect(heard()).toContain(`READY=1\nMAINPID=${pid}`)
    process.kill(pid)
    await until(() => cli.run(['status', '-q']).code === 4, 'it has stopped')
    // With nothing to take over from it says so.
    expect(await type('ExecReload').exited).toBe(4)
    cli.close()
  },
  30_000,
)

test('what the unit and the image start is a command that there is', () => {
  const started = settingOf('ExecStart').split(' ').slice(1)
  const cli = openCli()
  for (const args of [CONFIG.Cmd, started]) {
    expect(args[0]).toBe('serve')
    // Every flag is known: a listener that cannot be is what stops it.
    const { code, err } = cli.run([...args, '--listen', '127.0.0.1:99999'])
    expect([code, err]).toEqual([2, expect.stringContaining('listen must be host:port')])
  }
  cli.close()
})

const objdump = Bun.which('objdump')
if (!objdump) console.warn('objdump: skipped, not on the PATH')

test.skipIf(!objdump)('the binary asks for no newer glibc than the page says', () => {
  const { stdout } = Bun.spawnSync([objdump ?? '', '-T', BINARY])
  const wanted = [...stdout.toString().matchAll(/\(?GLIBC_([\d.]+)\)?/g)].map(
    ([, text = '']) => text,
  )
  const newest = wanted.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  expect(readFileSync('docs/install.md', 'utf8')).toContain(`| glibc ${newest} |`)
})

test('the health of a container is what status says: 0 while it serves, 4 when nothing does', () => {
  const [, program, ...check] = CONFIG.Healthcheck.Test
  expect([program, ...check]).toEqual([...CONFIG.Entrypoint, 'status', '-q'])
  const cli = openCli()
  expect(cli.run(check)).toEqual({ code: 4, out: '', err: '' })
  cli.close()
})

test('compose starts the image of this version, asks it the same, and gives its streams time to end', () => {
  const compose = Bun.YAML.parse(readFileSync('docs/install/compose.yaml', 'utf8')) as {
    services: { gatewayctl: Record<string, unknown> & { healthcheck: { test: string[] } } }
  }
  const { gatewayctl } = compose.services
  expect(gatewayctl['image']).toBe(`gatewayctl:${project.version}`)
  expect(gatewayctl.healthcheck.test).toEqual(CONFIG.Healthcheck.Test)
  expect(gatewayctl['volumes']).toEqual([`gatewayctl:${Object.keys(CONFIG.Volumes)[0]}`])
  const drain = Number.parseInt(CONFIG.Cmd.at(-1) ?? '', 10)
  expect(Number.parseInt(String(gatewayctl['stop_grace_period']), 10)).toBeGreaterThan(drain)
})

test('what has changed is told of this version first', () => {
  const newest = /^## (.*)$/m.exec(readFileSync('docs/changelog.md', 'utf8'))?.[1]
  expect(newest).toBe(project.version)
})
