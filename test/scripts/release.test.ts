// What a release promises: runtimes are what the lock file names, and the same sources make the same binary.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '#scripts/compile.ts'
import { readLock } from '#scripts/release/lock.ts'
import { demandIntegrity, TARGETS } from '#scripts/release/runtimes.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

test('every target has its runtime in the lock file, at the version that is pinned', () => {
  const { packages } = readLock()
  const pinned = packages['node_modules/bun']?.version
  for (const target of TARGETS) {
    const runtime = packages[`node_modules/@oven/bun-${target.replace('arm64', 'aarch64')}`]
    expect([target, runtime?.version]).toEqual([target, pinned])
    expect(runtime?.integrity).toMatch(/^sha512-/)
  }
})

test('a runtime that is not what the lock file names is refused', () => {
  const file = join(tempDirectory(), 'runtime.tgz')
  writeFileSync(file, 'as it should be')
  const integrity = `sha512-${createHash('sha512').update('as it should be').digest('base64')}`
  demandIntegrity(file, integrity)
  writeFileSync(file, 'as it should bf')
  expect(() => demandIntegrity(file, integrity)).toThrow(/is not what the lock file names/)
})

test('two builds into two files are the same, byte for byte', async () => {
  const directory = tempDirectory()
  // Each in a process of its own, as two people would.
  const digests = ['one', 'the-other'].map((name) => {
    const outfile = join(directory, name)
    const built = Bun.spawnSync([process.execPath, 'scripts/build.ts', '--outfile', outfile])
    expect(built.exitCode, built.stderr.toString()).toBe(0)
    return createHash('sha256').update(readFileSync(outfile)).digest('hex')
  })
  expect(digests[0]).toBe(digests[1])
})

test('a target whose runtime is not there says what to do', async () => {
  const built = compile({ target: 'linux-arm64', runtime: join(tempDirectory(), 'none') })
  await expect(built).rejects.toThrow(/no runtime for linux-arm64/)
})
