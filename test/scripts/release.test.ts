// What a release is made of: runtimes are what the lock file names, what it prints is of the commit, its tars and signatures are what
// everybody's tools read.
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile } from '#scripts/compile.ts'
import { readLock } from '#scripts/release/lock.ts'
import { demandIntegrity, TARGETS } from '#scripts/release/runtimes.ts'
import { readSigner } from '#scripts/release/signature.ts'
import { printFromCommit } from '#scripts/release/stage.ts'
import { tar, tarGz } from '#scripts/release/tar.ts'
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

const ENTRIES = [
  { path: 'etc/', mode: 0o755 },
  { path: 'etc/motd', mode: 0o640, bytes: Buffer.from('hello'), owner: 65532 },
  { path: 'etc/link', mode: 0o777, link: 'motd' },
] as const

test('a tar has what is put in, with its modes, owners and links, and the time that is given', () => {
  const file = join(tempDirectory(), 'a.tar.gz')
  writeFileSync(file, tarGz(ENTRIES, 1_700_000_000))
  const list = ['tar', '--utc', '--numeric-owner', '-tvzf', file]
  const { stdout, stderr } = Bun.spawnSync(list)
  expect(`${stderr}${stdout}`.replaceAll(/ +/g, ' ').trim().split('\n')).toEqual([
    'drwxr-xr-x 0/0 0 2023-11-14 22:13 etc/',
    '-rw-r----- 65532/65532 5 2023-11-14 22:13 etc/motd',
    'lrwxrwxrwx 0/0 0 2023-11-14 22:13 etc/link -> motd',
  ])
  expect(tar(ENTRIES, 0)).toEqual(tar(ENTRIES, 0))
  expect(() => tar([{ path: 'x'.repeat(101), mode: 0 }], 0)).toThrow(/too long for a tar/)
})

test.skipIf(Bun.which('ssh-keygen') === null)(
  'ssh-keygen takes a signature, of its text alone',
  () => {
    const place = tempDirectory()
    const { privateKey } = generateKeyPairSync('ed25519')
    const signer = readSigner(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
    writeFileSync(join(place, 'who'), signer.allowedSigners)
    writeFileSync(join(place, 'sig'), signer.signText('one text'))
    const verify = (text: string): number => {
      const files = ['-f', join(place, 'who'), '-s', join(place, 'sig')]
      const command = ['ssh-keygen', '-Y', 'verify', ...files, '-I', 'gatewayctl', '-n', 'file']
      return Bun.spawnSync(command, { stdin: Buffer.from(text) }).exitCode
    }
    expect(verify('one text')).toBe(0)
    expect(verify('another text')).not.toBe(0)
  },
)

test('a key of another kind signs no release', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  expect(() => readSigner(pem)).toThrow(/a release key is an Ed25519 key/)
})
