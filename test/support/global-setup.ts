// Before the first test: the right runtime, and a binary no older than its sources.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { BINARY, compile } from '#scripts/compile.ts'

const ROOMS = ['cli', 'server', 'db'].filter((room) => existsSync(room))

export default async function setup() {
  if (!process.versions['bun']) {
    throw new Error('the tests need Bun; run them with: npm test')
  }
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
