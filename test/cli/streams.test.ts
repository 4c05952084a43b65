/** Output: every byte in its order, however slow the reader, and no fuss when it has left. */
import { join } from 'node:path'
import { expect, test } from 'vitest'

const PRINTER = join(import.meta.dirname, 'children/print-much.ts')
const LINES = 500_000
const WHOLE = `${Array.from({ length: LINES }, (_, n) => `${n}\n`).join('')}last\n`

const print = (shell: string) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ['bash', '-c', `set -o pipefail; ${shell}`, process.execPath, PRINTER, String(LINES)],
    { stdin: 'ignore' },
  )
  return { exitCode, out: stdout.toString(), err: stderr.toString() }
}

/** Makes the pipe answer "try again" instead of waiting, as a parent that reads it asynchronously does. */
const IMPATIENT = `perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY); exec @ARGV'`

test.each([
  ['a pipe that is read late', '"$0" "$1" "$2" | (sleep 0.2; cat)'],
  ['a pipe that takes what it can and no more', `${IMPATIENT} "$0" "$1" "$2" | (sleep 0.2; cat)`],
  ['a file', 'file=$(mktemp); "$0" "$1" "$2" > "$file"; cat "$file"; rm "$file"'],
])('%s gets every byte, in order', (_, shell) => {
  const { exitCode, out, err } = print(shell)
  expect(out.length).toBe(WHOLE.length)
  expect(out === WHOLE).toBe(true)
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: 'done\n' })
})

test('a disk that is full is an error, not silence', () => {
  const { exitCode, err } = print('"$0" "$1" "$2" > /dev/full')
  expect(exitCode).not.toBe(0)
  expect(err).toContain('ENOSPC')
})

test.each([
  ['that reads one line and leaves', '"$0" "$1" "$2" | head -n 1'],
  ['that was never there', '"$0" "$1" "$2" >&-'],
])('a reader %s is no error', (_, shell) => {
  const { err } = print(shell)
  expect(err).toBe('done\n')
})
