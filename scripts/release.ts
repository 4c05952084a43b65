// Makes a release of the last commit: `bun scripts/release.ts [--target linux-x64]... [--key FILE] [--no-images] [--out DIR]`. Everything in it
// depends on the commit alone, but for signatures; the binary of this machine's own kind is built twice, and both must be the same.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import project from '../package.json' with { type: 'json' }
import { renderImage } from './release/image.ts'
import { type Architecture, fetchLibc, LIBC } from './release/libc.ts'
import { readLock } from './release/lock.ts'
import { renderNotices } from './release/notices.ts'
import { renderMainPackage, renderPlatformPackage } from './release/npm.ts'
import { type Material, renderProvenance } from './release/provenance.ts'
import { run } from './release/run.ts'
import { fetchRuntime, isTarget, TARGETS, type Target, toRuntime } from './release/runtimes.ts'
import { renderSbom } from './release/sbom.ts'
import { readSigner } from './release/signature.ts'
import { openStage, printFromCommit } from './release/stage.ts'
import { renderTarball } from './release/tarball.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(ROOT, 'dist', 'cache')
const HOST = `${process.platform}-${process.arch}`
/** Beside the program: in its tarball, and each by itself. */
const UNITS = ['gatewayctl.service', 'gatewayctl-backup.service', 'gatewayctl-backup.timer']
const IMAGES: Partial<Record<Target, Architecture>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
}

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    key: { type: 'string' },
    images: { type: 'boolean', default: true },
    out: { type: 'string' },
  },
  allowNegative: true,
})
const targets = (values.target ?? TARGETS).map(readTarget)
const signer = values.key === undefined ? null : readSigner(readFileSync(values.key, 'utf8'))
const out = values.out ?? join(ROOT, 'dist', 'release')

const pinned = project.devDependencies.bun
if (Bun.version !== pinned)
  throw new Error(`a release is built by Bun ${pinned}, not ${Bun.version}`)
const commit = (await run(['git', 'rev-parse', 'HEAD'], { cwd: ROOT })).trim()
const modifiedSeconds = Number(
  await run(['git', 'show', '--no-patch', '--format=%ct', commit], { cwd: ROOT }),
)
if ((await run(['git', 'status', '--porcelain', '-uno'], { cwd: ROOT })) !== '') {
  tell(`! there are changes that are not committed; what is released is ${commit.slice(0, 12)}`)
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-release-'))
const lock = readLock()
const files: Material[] = []
const materials: Material[] = [
  {
    name: 'package-lock.json',
    digest: { sha256: sha256(readFileSync(`${ROOT}package-lock.json`)) },
  },
]
const stage = await openStage(ROOT, commit)
try {
  const version = stage.version
  const units = Object.fromEntries(UNITS.map((name) => [name, readInstalled(name)]))
  let shipped: { readonly places: readonly string[]; readonly notices: string } | undefined
  for (const target of targets) {
    const { places, binary } = await build(target)
    shipped ??= { places, notices: renderNotices(stage.place, places, lock) }
    const options = { version, modifiedSeconds, notices: shipped.notices }
    put(renderTarball(target, binary, { ...options, units }))
    put(renderPlatformPackage(target, binary, options))
    const architecture = values.images ? IMAGES[target] : undefined
    if (architecture !== undefined) {
      const libc = await fetchLibc(architecture, CACHE)
      const uri = `pkg:deb/debian/libc6@${LIBC.version}?arch=${architecture}`
      materials.push({ uri, digest: { sha256: LIBC.sha256[architecture] } })
      const bytes = renderImage({ ...options, architecture, binary, libc })
      put({ name: `gatewayctl-${version}-image-${architecture}.tar`, bytes })
    }
    tell(`✓ ${target}`)
  }
  const { places = [], notices = '' } = shipped ?? {}
  put(renderMainPackage({ version, modifiedSeconds, notices }))
  for (const name of [...UNITS, 'compose.yaml']) put({ name, bytes: readInstalled(name) })
  const sbom = renderSbom(lock, { places, bunVersion: pinned, libcVersion: LIBC.version })
  put({ name: `gatewayctl-${version}.cdx.json`, bytes: `${JSON.stringify(sbom, null, 2)}\n` })
  put({
    name: `gatewayctl-${version}.cli-json.json`,
    bytes: await printFromCommit('scripts/cli-json.ts', ROOT, commit),
  })
  finish(version)
} finally {
  stage.close()
  rmSync(scratch, { recursive: true, force: true })
}

function readTarget(text: string): Target {
  if (isTarget(text)) return text
  throw new Error(`there is no target ${text}: ${TARGETS.join(', ')}`)
}

function readInstalled(name: string): Uint8Array {
  return readFileSync(join(stage.place, 'docs', 'install', name))
}

function put({ name, bytes }: { readonly name: string; readonly bytes: string | Uint8Array }) {
  writeFileSync(join(out, name), bytes)
  files.push({ name, digest: { sha256: sha256(bytes) } })
}

async function build(target: Target) {
  const runtime = await fetchRuntime(target, CACHE)
  const { name, version, integrity } = toRuntime(target)
  const sha512 = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
  materials.push({
    uri: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    digest: { sha512 },
  })
  const outfile = join(scratch, target)
  const places = await stage.buildAndTell(target, runtime, outfile)
  const binary = readFileSync(outfile)
  if (target === HOST) await demandSame(target, runtime, binary)
  return { places, binary }
}

/** From another empty directory: packages, sources, binary. */
async function demandSame(target: Target, runtime: string, binary: Uint8Array): Promise<void> {
  const second = await openStage(ROOT, commit)
  const outfile = join(scratch, 'again')
  try {
    await second.build(target, runtime, outfile)
  } finally {
    second.close()
  }
  const [one, two] = [sha256(binary), sha256(readFileSync(outfile))]
  if (one !== two) throw new Error(`${target} was built twice: ${one} and ${two}`)
  tell(`✓ ${target} is the same when it is built again`)
}

/** The checksums are the same whoever makes them; what is signed stands beside them. */
function finish(version: string): void {
  const listed = files.toSorted((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1))
  const sums = listed.map(({ name, digest }) => `${digest['sha256']}  ${name}\n`).join('')
  writeFileSync(join(out, 'SHA256SUMS'), sums)
  const provenance = renderProvenance({ commit, targets, files: listed, materials })
  if (signer === null) {
    tell('! nothing is signed, and there is no provenance: --key names a key')
  } else {
    writeFileSync(join(out, 'SHA256SUMS.sig'), signer.signText(sums))
    writeFileSync(join(out, `gatewayctl-${version}.intoto.jsonl`), signer.envelop(provenance))
    writeFileSync(join(out, 'allowed_signers'), signer.allowedSigners)
    writeFileSync(join(out, 'release-key.pem'), signer.publicPem)
  }
  tell(`✓ ${files.length} files and SHA256SUMS in ${out}`)
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function tell(words: string): void {
  process.stderr.write(`${words}\n`)
}
