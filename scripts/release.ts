// Makes a release of the last commit: `bun scripts/release.ts [--target linux-x64]... [--out DIR]`. Binaries, their
// checksums and what is inside them; that of this machine's own kind is built twice, and both must be the same.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import project from '../package.json' with { type: 'json' }
import { readLock } from './release/lock.ts'
import { run } from './release/run.ts'
import { fetchRuntime, isTarget, TARGETS, type Target } from './release/runtimes.ts'
import { renderSbom } from './release/sbom.ts'
import { openStage, printFromCommit } from './release/stage.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(ROOT, 'dist', 'runtimes')
const HOST = `${process.platform}-${process.arch}`

const { values } = parseArgs({
  options: { target: { type: 'string', multiple: true }, out: { type: 'string' } },
})
const targets = (values.target ?? TARGETS).map(readTarget)
const out = values.out ?? join(ROOT, 'dist', 'release')

const pinned = project.devDependencies.bun
if (Bun.version !== pinned)
  throw new Error(`a release is built by Bun ${pinned}, not ${Bun.version}`)
const commit = (await run(['git', 'rev-parse', 'HEAD'], { cwd: ROOT })).trim()
if ((await run(['git', 'status', '--porcelain', '-uno'], { cwd: ROOT })) !== '') {
  tell(`! there are changes that are not committed; what is released is ${commit.slice(0, 12)}`)
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const files: string[] = []
await build(targets, out)
for (const target of targets) files.push(fileOf(target))
if (targets.some((target) => target === HOST)) await demandSame(HOST as Target)

const sbom = `gatewayctl-${project.version}.cdx.json`
writeFileSync(
  join(out, sbom),
  `${JSON.stringify(renderSbom(readLock(), { version: pinned }), null, 2)}\n`,
)
const schemas = `gatewayctl-${project.version}.cli-json.json`
writeFileSync(join(out, schemas), await printFromCommit('scripts/cli-json.ts', ROOT, commit))
for (const path of ['docs/install/gatewayctl.service', 'docs/install/Dockerfile']) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  copyFileSync(join(ROOT, path), join(out, name))
  files.push(name)
}
const sums = [...files, sbom, schemas]
  .toSorted()
  .map((name) => `${sha256(join(out, name))}  ${name}\n`)
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
tell(`✓ ${files.length + 2} files and SHA256SUMS in ${out}`)

function readTarget(text: string): Target {
  if (isTarget(text)) return text
  throw new Error(`there is no target ${text}: ${TARGETS.join(', ')}`)
}

function fileOf(target: Target): string {
  return `gatewayctl-${project.version}-${target}`
}

async function build(wanted: readonly Target[], into: string): Promise<void> {
  const runtimes = new Map<Target, string>()
  for (const target of wanted) runtimes.set(target, await fetchRuntime(target, CACHE))
  const stage = await openStage(ROOT, commit)
  try {
    for (const [target, runtime] of runtimes) {
      await stage.build(target, runtime, join(into, fileOf(target)))
      tell(`✓ ${target}`)
    }
  } finally {
    stage.close()
  }
}

/** From another empty directory: packages, sources, binary. */
async function demandSame(target: Target): Promise<void> {
  const again = join(ROOT, 'dist', 'again')
  mkdirSync(again, { recursive: true })
  try {
    await build([target], again)
    const [first, second] = [out, again].map((place) => sha256(join(place, fileOf(target))))
    if (first !== second) throw new Error(`${target} was built twice: ${first} and ${second}`)
    tell(`✓ ${target} is the same when it is built again`)
  } finally {
    rmSync(again, { recursive: true, force: true })
  }
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function tell(words: string): void {
  process.stderr.write(`${words}\n`)
}
