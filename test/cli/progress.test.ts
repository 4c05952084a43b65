/** Progress: shown at a terminal after a second, cleared at the end, and never in a script. */
import { afterEach, expect, test, vi } from 'vitest'
import { openContext } from '#cli/context.ts'
import { awaitProgress, showProgress } from '#cli/terminal/progress.ts'

const streams = vi.hoisted(() => ({ written: '', isTerminal: true }))
vi.mock('#cli/terminal/streams.ts', () => ({
  isTerminal: () => streams.isTerminal,
  writeError: (text: string) => {
    streams.written += text
  },
}))

vi.useFakeTimers()
afterEach(() => {
  streams.written = ''
  streams.isTerminal = true
})

test('nothing is shown within the first second', () => {
  const progress = awaitProgress(openContext({}, {}), 'audit')
  vi.advanceTimersByTime(999)
  progress.done()
  vi.advanceTimersByTime(5_000)
  expect(streams.written).toBe('')
})

test('longer work is shown every second, and cleared', () => {
  const progress = awaitProgress(openContext({}, {}), 'audit')
  vi.advanceTimersByTime(2_500)
  expect(streams.written).toBe('\r\u001b[Kaudit … 1s\r\u001b[Kaudit … 2s')
  progress.done()
  vi.advanceTimersByTime(5_000)
  expect(streams.written.endsWith('2s\r\u001b[K')).toBe(true)
})

test.each([{ quiet: true }, { json: true }])('a script sees nothing: %j', (flags) => {
  const context = openContext(flags, {})
  const progress = awaitProgress(context, 'audit')
  vi.advanceTimersByTime(5_000)
  progress.done()
  showProgress(context, 'copying').done()
  expect(streams.written).toBe('')
})

test('nor does a pipe', () => {
  streams.isTerminal = false
  const progress = awaitProgress(openContext({}, {}), 'audit')
  vi.advanceTimersByTime(5_000)
  progress.done()
  expect(streams.written).toBe('')
})
