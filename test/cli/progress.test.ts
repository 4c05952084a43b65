/** Progress: shown at a terminal after a second, cleared at the end, and never in a script. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hasTerminals } from '#test/support/terminal.ts'

const CHILD = join(import.meta.dirname, 'children/show-progress.ts')
const CLEAR = '\r\u001b[K'
const COPYING = `copying …${CLEAR}`

/** What standard error shows of work that takes so many milliseconds, followed by work that blocks its process. */
function shown(lastsMs: number, { flags = {}, atTerminal = true } = {}): string {
  const command = [process.execPath, CHILD, JSON.stringify(flags), String(lastsMs)]
  const quoted = command.map((word) => `'${word}'`).join(' ')
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    atTerminal ? ['script', '-qec', quoted, '/dev/null'] : command,
    { stdin: 'ignore' },
  )
  expect(exitCode).toBe(0)
  return stdout.toString() + stderr.toString()
}

test.skipIf(!hasTerminals)('nothing is shown within the first second', () => {
  expect(shown(999)).toBe(COPYING)
})

test.skipIf(!hasTerminals)('longer work is shown every second, and cleared', () => {
  expect(shown(2_500)).toBe(`${CLEAR}audit … 1s${CLEAR}audit … 2s${CLEAR}${COPYING}`)
})

test.skipIf(!hasTerminals).each([{ quiet: true }, { json: true }])(
  'a script sees nothing: %j',
  (flags) => {
    expect(shown(5_000, { flags })).toBe('')
  },
)

test('nor does a pipe', () => {
  expect(shown(5_000, { atTerminal: false })).toBe('')
})
