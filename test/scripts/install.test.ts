// What is installed beside the binary: a unit that systemd takes, well locked up, and an image that asks the gateway how it is.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const UNIT = 'docs/install/gatewayctl.service'
const unit = readFileSync(UNIT, 'utf8')
const analyze = Bun.which('systemd-analyze')
if (!analyze) console.warn('systemd-analyze: skipped, not on the PATH')

const installed = (text = unit): string => {
  const path = join(tempDirectory(), 'gatewayctl.service')
  writeFileSync(path, text.replace('/usr/local/bin/gatewayctl', BINARY))
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

test('what the unit and the image start is a command that there is', () => {
  const dockerfile = readFileSync('docs/install/Dockerfile', 'utf8')
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[]
  const started = settingOf('ExecStart').split(' ').slice(1)
  const cli = openCli()
  for (const args of [command, started]) {
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
  const dockerfile = readFileSync('docs/install/Dockerfile', 'utf8')
  const check = JSON.parse(/HEALTHCHECK[^[]*(\[[^\]]*\])/.exec(dockerfile)?.[1] ?? '[]') as string[]
  expect(check.slice(1)).toEqual(['status', '-q'])
  const cli = openCli()
  expect(cli.run(check.slice(1))).toEqual({ code: 4, out: '', err: '' })
  cli.close()
})
