// Checks that need the compiled binary: start-up, size, independence of its directory, a first request.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BINARY, compile } from './compile.ts'
import { answersAndDrains } from './smoke/demo.ts'
import { ignoresItsDirectory } from './smoke/hostile-directory.ts'
import { shipsProduction } from './smoke/production.ts'
import { startsWithin } from './smoke/start-up.ts'

const SIZE_LIMIT_BYTES = 130e6

const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-smoke-'))

/** Each check returns what it measured, or throws what is wrong. */
const checks: readonly (readonly [name: string, check: () => string | Promise<string>])[] = [
  ['binary size', sizeWithin],
  ['--version start-up', () => startsWithin(3, ['--version'], scratch)],
  ['keys list start-up', () => startsWithin(4.5, ['keys', 'list'], scratch)],
  ['hostile directory', () => ignoresItsDirectory(scratch)],
  ['production build', () => shipsProduction(scratch)],
  ['demo answers and drains', () => answersAndDrains(scratch)],
]

let failed = 0
try {
  if (!statSync(BINARY, { throwIfNoEntry: false })) await compile()
  for (const [name, check] of checks) failed += (await passes(name, check)) ? 0 : 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.stdout.write(`${checks.length - failed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1

async function passes(name: string, check: () => string | Promise<string>): Promise<boolean> {
  try {
    process.stdout.write(`✓ ${name.padEnd(26)} ${await check()}\n`)
    return true
  } catch (wrong) {
    const why = wrong instanceof Error ? wrong.message : String(wrong)
    process.stdout.write(`✖ ${name.padEnd(26)} ${why.trim().replaceAll('\n', '\n    ')}\n`)
    return false
  }
}

function sizeWithin(): string {
  const { size } = statSync(BINARY)
  const line = `${(size / 1e6).toFixed(1)} MB of ${SIZE_LIMIT_BYTES / 1e6} MB`
  if (size > SIZE_LIMIT_BYTES) throw new Error(`too large: ${line}`)
  return line
}
