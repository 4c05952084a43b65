// What a release is made of: runtimes are what the lock file names, and what it prints is of the commit.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '#scripts/compile.ts'
import { readLock } from '#scripts/release/lock.ts'
import { demandIntegrity, TARGETS } from '#scripts/release/runtimes.ts'
import { printFromCommit } from '#scripts/release/stage.ts'
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

test('a target whose runtime is not there says what to do', async () => {
  const built = compile({ target: 'linux-arm64', runtime: join(tempDirectory(), 'none') })
  await expect(built).rejects.toThrow(/no runtime for linux-arm64/)
})

test.skipIf(Bun.which('git') === null)(
  'what a script prints for a release is of the commit, with the packages of the checkout',
  async () => {
    const root = tempDirectory()
    const script = join(root, 'say.ts')
    const git = (...args: readonly string[]) => {
      const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
      const { exitCode, stderr } = Bun.spawnSync(['git', ...who, ...args], { cwd: root })
      expect(exitCode, stderr.toString()).toBe(0)
    }
    mkdirSync(join(root, 'node_modules', 'word'), { recursive: true })
    writeFileSync(join(root, 'node_modules', 'word', 'index.js'), "export const word = 'borrowed'")
    writeFileSync(script, "import { word } from 'word'\nconsole.log('committed', word)")
    git('init', '--quiet')
    git('add', 'say.ts')
    git('commit', '--quiet', '--no-gpg-sign', '-m', 'one')
    writeFileSync(script, "console.log('not committed')")
    expect(await printFromCommit('say.ts', root, 'HEAD')).toBe('committed borrowed\n')
  },
)
