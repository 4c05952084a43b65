// A release as its readers have it: verified and installed as the page says, by npm, as an image and on musl; and made again, the same.
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fetchLibc } from '#scripts/release/libc.ts'
import { renderPlatformPackage } from '#scripts/release/npm.ts'
import { run } from '#scripts/release/run.ts'
import { TARGETS } from '#scripts/release/runtimes.ts'
import { type Appliance, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import project from '../../../package.json' with { type: 'json' }
import { blocksOf } from '../documented/pages.ts'
import { openMuslRoot } from './musl-root.ts'
import { openRegistry } from './registry.ts'

const RELEASE_MS = 900_000
const START_MS = 120_000
const BUILT = ['linux-x64', 'linux-x64-musl'] as const
const { version } = project

const isHere = process.platform === 'linux' && process.arch === 'x64'
const missing = ['git', 'npm', 'ssh-keygen', 'openssl', 'apt-get', 'dpkg-deb', 'jq'].filter(
  (program) => Bun.which(program) === null,
)
const can = FULL && isHere && missing.length === 0
if (FULL && !can) console.warn(`release: skipped, no ${missing.join(', ') || 'Linux on x64'}`)
const isRoot = process.getuid?.() === 0
if (can && !isRoot) console.warn('release: the image and musl are skipped, chroot is for root')

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The block of the page that has this in it, as somebody types it who may not write where the page does. */
function typed(part: string, inPlace: Readonly<Record<string, string>> = {}): string {
  const block = blocksOf('docs/install.md').find(({ text }) => text.includes(part))
  expect(block, part).toBeDefined()
  return Object.entries(inPlace).reduce(
    (text, [page, real]) => text.replaceAll(page, real),
    block?.text ?? '',
  )
}

const keyOf = (demo: Appliance): string => /OPENAI_API_KEY=(\S+)/.exec(demo.said())?.[1] ?? ''

async function pays(gateway: Appliance, key = keyOf(gateway)): Promise<void> {
  const messages = [{ role: 'user', content: 'a first request' }]
  const answer = await gateway.chat(key, { model: 'demo/echo', messages })
  const { choices, usage } = (await answer.json()) as {
    choices: { message: { content: string } }[]
    usage: { cost: number }
  }
  expect(choices[0]?.message.content).toContain('a first request')
  expect(usage.cost).toBeGreaterThan(0)
}

/** As a container starts it: in a root of its own, with what the kernel tells of processes, which Bun reads. It becomes the program. */
const inRoot = (root: string, user: string): readonly string[] => {
  mkdirSync(join(root, 'proc'), { recursive: true })
  const mounted = `mount -t proc proc "$1/proc" && exec chroot --userspec=${user} --groups= "$@"`
  return [Bun.which('unshare') ?? '', '--mount', Bun.which('sh') ?? '', '-c', mounted, 'sh', root]
}

function harness(binary: string): CliHarness {
  const cli = openCli(binary)
  onTestFinished(() => cli.close())
  return cli
}

async function demo(cli: CliHarness, under: readonly string[], env = {}): Promise<Appliance> {
  const options = { flags: ['--demo'], under, env, withinMs: START_MS }
  const gateway = await startAppliance(cli, options)
  onTestFinished(() => gateway.kill())
  return gateway
}

describe.runIf(can)('a release', { timeout: RELEASE_MS }, () => {
  let scratch: string
  let out: string
  let key: string
  let hasLibc = true

  const release = (root: string, into: string): Promise<string> => {
    const targets = BUILT.flatMap((target) => ['--target', target])
    const command = [process.execPath, join(root, 'scripts/release.ts'), ...targets]
    return run([...command, ...(hasLibc ? [] : ['--no-images']), '--key', key, '--out', into])
  }
  /** A directory with the files of the release, to be changed at will. */
  const download = (): string => {
    const place = mkdtempSync(join(scratch, 'download-'))
    cpSync(out, place, { recursive: true })
    return place
  }
  const shell = (script: string, cwd: string) => {
    const env = { PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`, HOME: cwd }
    const ended = Bun.spawnSync(['bash', '-euo', 'pipefail', '-c', script], { cwd, env })
    return { code: ended.exitCode, said: `${ended.stdout}${ended.stderr}` }
  }

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'gwctl-release-'))
    chmodSync(scratch, 0o755)
    out = join(scratch, 'release')
    key = join(scratch, 'release-key')
    await run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', key])
    await fetchLibc('amd64', scratch).catch((cause: Error) => {
      hasLibc = false
      console.warn(`image: skipped, ${cause.message.split('\n').at(-1)}`)
    })
    await release('.', out)
  }, RELEASE_MS)
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))

  test('is verified and installed as the page says', () => {
    const place = download()
    mkdirSync(join(place, 'bin'))
    const inPlace = { 'sudo ': '', '/usr/local/bin': 'bin' }
    const verify = typed('ssh-keygen -Y verify')
    const { code, said } = shell(verify, place)
    expect([code, said]).toEqual([0, expect.stringContaining('Good "file" signature')])
    expect(said).toContain(`gatewayctl-${version}-linux-x64.tar.gz: OK`)
    const put = typed('sudo install', { ...inPlace, 'gatewayctl serve --demo': '' })
    expect(shell(`${put}\ngatewayctl --version`, place)).toEqual({
      code: 0,
      said: expect.stringContaining(version),
    })
  })

  test('that somebody changed is not', () => {
    const verify = typed('ssh-keygen -Y verify')
    const place = download()
    appendFileSync(join(place, `gatewayctl-${version}-linux-x64.tar.gz`), '!')
    expect(shell(verify, place)).toEqual({ code: 1, said: expect.stringContaining('FAILED') })
    appendFileSync(join(place, 'SHA256SUMS'), '\n')
    const { code, said } = shell(verify, place)
    expect([code, said]).toEqual([255, expect.stringContaining('incorrect signature')])
  })

  test('has a provenance that openssl verifies, of every file', () => {
    const place = download()
    const { code, said } = shell(typed('openssl pkeyutl'), place)
    expect([code, said]).toEqual([0, expect.stringContaining('Signature Verified Successfully')])
    const statement = JSON.parse(readFileSync(join(place, 'statement.json'), 'utf8')) as {
      subject: { name: string; digest: { sha256: string } }[]
      predicate: { buildDefinition: { externalParameters: { commit: string } } }
    }
    const sums = statement.subject.map(({ name, digest }) => `${digest.sha256}  ${name}\n`).join('')
    expect(sums).toBe(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))
    const head = Bun.spawnSync(['git', 'rev-parse', 'HEAD']).stdout.toString().trim()
    expect(statement.predicate.buildDefinition.externalParameters.commit).toBe(head)
    const signed = ['SHA256SUMS', 'SHA256SUMS.sig', 'allowed_signers', 'release-key.pem']
    const listed = [...statement.subject.map(({ name }) => name), ...signed]
    expect(readdirSync(out).toSorted()).toEqual(
      [...listed, `gatewayctl-${version}.intoto.jsonl`].toSorted(),
    )
  })

  test(
    'is the same when another checkout makes it elsewhere',
    async () => {
      const checkout = join(scratch, 'elsewhere', 'checkout')
      const again = join(scratch, 'again')
      await run(['git', 'clone', '--quiet', '--no-hardlinks', process.cwd(), checkout])
      symlinkSync(join(process.cwd(), 'node_modules'), join(checkout, 'node_modules'))
      await release(checkout, again)
      expect(readdirSync(again)).toEqual(readdirSync(out))
      const digests = (place: string) =>
        readdirSync(place).map((name) => [name, sha256(readFileSync(join(place, name)))])
      expect(digests(again)).toEqual(digests(out))
    },
    RELEASE_MS,
  )

  test(
    'is run by npx, from nothing: npm takes the one package of this platform',
    async () => {
      const shelf = mkdtempSync(join(scratch, 'shelf-'))
      const options = { version, notices: '', modifiedSeconds: 0 }
      for (const target of TARGETS) {
        const { name, bytes } = renderPlatformPackage(target, Buffer.from('not for you'), options)
        writeFileSync(join(shelf, name), bytes)
      }
      for (const name of [`gatewayctl-${version}.tgz`, `gatewayctl-linux-x64-${version}.tgz`]) {
        copyFileSync(join(out, name), join(shelf, name))
      }
      let isOver = false
      const registry = openRegistry(shelf)
      onTestFinished(() => registry.close())
      const env = { npm_config_registry: registry.url, npm_config_update_notifier: 'false' }
      // A group of its own, as a terminal gives it: Ctrl-C tells all of it.
      const gateway = await demo(harness('gatewayctl'), ['setsid', 'npx'], env)
      const end = (signal: NodeJS.Signals) => process.kill(-gateway.pid, signal)
      onTestFinished(() => void (isOver || end('SIGKILL')))
      await pays(gateway)
      end('SIGINT')
      await gateway.exited
      isOver = true
      expect(registry.downloads.toSorted()).toEqual(['@gatewayctl/linux-x64', 'gatewayctl'])
    },
    START_MS * 2,
  )

  test(
    'is installed by npm from its files: signals and exit codes pass, and a missing platform is named',
    async () => {
      const cli = harness('gatewayctl')
      writeFileSync(join(cli.home, 'package.json'), '{"private":true}')
      const files = ['', 'linux-x64-'].map((part) => join(out, `gatewayctl-${part}${version}.tgz`))
      await run(['npm', 'install', '--no-audit', '--no-fund', ...files], { cwd: cli.home })
      const launcher = join(cli.home, 'node_modules', '.bin', 'gatewayctl')
      const gateway = await demo({ ...cli, binary: launcher }, [])
      await pays(gateway)
      expect(await gateway.stop()).toBe(0)
      expect(Bun.spawnSync([launcher, 'no-such-command'], { env: cli.env }).exitCode).toBe(2)
      rmSync(join(cli.home, 'node_modules', '@gatewayctl'), { recursive: true })
      const { exitCode, stderr } = Bun.spawnSync([launcher, '--version'], { env: cli.env })
      expect(exitCode).toBe(1)
      expect(`${stderr}`).toContain('error: the package @gatewayctl/linux-x64 is not installed')
    },
    START_MS * 2,
  )

  test.runIf(isRoot)(
    'its image runs with nothing but its layers, as its user',
    async ({ skip }) => {
      if (!hasLibc) return skip()
      const layout = mkdtempSync(join(scratch, 'image-'))
      const root = mkdtempSync(join(scratch, 'root-'))
      chmodSync(root, 0o755)
      await run(['tar', '-xf', join(out, `gatewayctl-${version}-image-amd64.tar`), '-C', layout])
      const read = (path: string) => JSON.parse(readFileSync(join(layout, path), 'utf8'))
      const blob = (digest: string): string => {
        const path = join('blobs/sha256', digest.replace('sha256:', ''))
        expect(`sha256:${sha256(readFileSync(join(layout, path)))}`).toBe(digest)
        return path
      }
      const manifest = read(blob(read('index.json').manifests[0].digest))
      const { config, rootfs } = read(blob(manifest.config.digest))
      const layers = manifest.layers.map(({ digest }: { digest: string }) => blob(digest))
      expect(read('manifest.json')).toEqual([
        {
          Config: blob(manifest.config.digest),
          Layers: layers,
          RepoTags: [`gatewayctl:${version}`],
        },
      ])
      for (const [at, layer] of layers.entries()) {
        const bytes = Bun.gunzipSync(readFileSync(join(layout, layer)))
        expect(`sha256:${sha256(bytes)}`).toBe(rootfs.diff_ids[at])
        await run(['tar', '-xpf', join(layout, layer), '-C', root])
      }
      const under = inRoot(root, config.User)
      const set = Object.fromEntries(config.Env.map((one: string) => one.split('=')))
      const env = { ...set, PATH: `${set['PATH']}:${process.env['PATH']}` }
      const inside = (...args: readonly string[]) =>
        Bun.spawnSync([...under, ...config.Entrypoint, ...args], { env })
      const { exitCode, stderr } = inside('init', '--no-input')
      expect(exitCode, stderr.toString()).toBe(0)
      const cli = harness(config.Entrypoint[0])
      const started = { flags: config.Cmd.slice(1), under, env, withinMs: START_MS }
      const gateway = await startAppliance(cli, started)
      onTestFinished(() => gateway.kill())
      const [, program, ...check] = config.Healthcheck.Test
      expect(program).toBe(config.Entrypoint[0])
      expect(inside(...check).exitCode).toBe(0)
      inside('balance', 'top-up', '5')
      inside('rates', 'set', 'USD/RUB', '90')
      await pays(gateway, inside('keys', 'create', 'ci', '-q').stdout.toString().trim())
      expect(await gateway.stop()).toBe(0)
      expect(inside(...check).exitCode).toBe(4)
    },
  )

  test.runIf(isRoot)(
    'on musl, in a root with nothing but it and its C++ library',
    async ({ skip }) => {
      const musl = await openMuslRoot(scratch)
      if (typeof musl === 'string') {
        console.warn(`musl: skipped, ${musl}`)
        return skip()
      }
      const file = join(out, `gatewayctl-${version}-linux-x64-musl.tar.gz`)
      await run(['tar', '-xzf', file, '-C', musl.root, '--strip-components=1'])
      const cli = harness('/gatewayctl')
      mkdirSync(join(musl.root, 'tmp'))
      chmodSync(join(musl.root, 'tmp'), 0o1777)
      const home = { HOME: '/tmp', XDG_CONFIG_HOME: '/tmp', XDG_RUNTIME_DIR: '/tmp' }
      const gateway = await demo(cli, inRoot(musl.root, '65532:65532'), {
        ...home,
        GATEWAY_DATA_DIR: '/tmp/d',
      })
      await pays(gateway)
      expect(await gateway.stop()).toBe(0)
    },
  )
})
