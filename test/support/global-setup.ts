// Before the first test: the right runtime, a place for its files, and a binary no older than its sources.
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { BINARY, compile } from '#scripts/compile.ts'
import { startSharedCluster } from './over-nodes.ts'

const ROOMS = ['cli', 'server', 'db'].filter((room) => existsSync(room))

const MEMORY = '/dev/shm'
/** Twice what all files at once have been seen to take. */
const MIN_MEMORY_BYTES = 2 ** 30

export default async function setup({ vite }: TestProject): Promise<() => Promise<void>> {
  if (!process.versions['bun']) {
    throw new Error('the tests need Bun; run them with: npm test')
  }
  await build()
  // At full size every file is on the disk.
  const isInMemory = vite.config.mode !== 'full' && isRoomy(MEMORY)
  const place = mkdtempSync(join(isInMemory ? MEMORY : tmpdir(), 'gatewayctl-'))
  // Tests try what another user sees of a file in it.
  chmodSync(place, 0o755)
  process.env['TMPDIR'] = place
  process.on('exit', () => rmSync(place, { recursive: true, force: true }))
  return await startSharedCluster()
}

/** Whether programs run there and there is room; a container's may have neither. */
function isRoomy(directory: string): boolean {
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : ''
  const [, options] = new RegExp(`^\\S+ ${directory} tmpfs (\\S+)`, 'm').exec(mounts) ?? []
  if (options === undefined || options.split(',').includes('noexec')) return false
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize >= MIN_MEMORY_BYTES
}

async function build(): Promise<void> {
  if (newestSourceMs() <= modifiedMs(BINARY)) return
  try {
    const { tookMs } = await compile()
    process.stderr.write(`built dist/gatewayctl for the acceptance tests in ${tookMs} ms\n`)
  } catch (cause) {
    // A stale binary must not answer for sources that no longer compile: without it the acceptance
    // tests fail, and all the others still tell what they know.
    rmSync(BINARY, { force: true })
    process.stderr.write(`cannot build dist/gatewayctl: ${Bun.inspect(cause)}\n`)
  }
}

function newestSourceMs(): number {
  const files = ROOMS.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => `${room}/${path}`),
  )
  return Math.max(...['package.json', 'scripts/compile.ts', ...files].map(modifiedMs))
}

function modifiedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
