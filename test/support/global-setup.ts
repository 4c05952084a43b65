// Before the first test: the right runtime, and a binary no older than its sources.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { BINARY, compile } from '#scripts/compile.ts'

export default async function setup() {
  if (!process.versions['bun']) {
    throw new Error('the tests need Bun; run them with: npm test')
  }
  if (newestSourceMs() <= modifiedMs(BINARY)) return
  const { tookMs } = await compile()
  process.stderr.write(`built dist/gatewayctl for the acceptance tests in ${tookMs} ms\n`)
}

function newestSourceMs(): number {
  const files = ['cli', 'server', 'db']
    .filter((room) => existsSync(room))
    .flatMap((room) =>
      readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => `${room}/${path}`),
    )
  return Math.max(...['package.json', ...files].map(modifiedMs))
}

function modifiedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
