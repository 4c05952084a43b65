/** Progress: told to a person after a second of waiting, taken back at the end, and never told to a script. */
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

test('nothing is said of what ends within a second', () => {
  const progress = awaitProgress(openContext({}, {}), 'audit')
  vi.advanceTimersByTime(999)
  progress.done()
  vi.advanceTimersByTime(5_000)
  expect(streams.written).toBe('')
})

test('what takes longer is told every second, and wiped away', () => {
  const progress = awaitProgress(openContext({}, {}), 'audit')
  vi.advanceTimersByTime(2_500)
  expect(streams.written).toBe('\r\u001b[Kaudit … 1s\r\u001b[Kaudit … 2s')
  progress.done()
  vi.advanceTimersByTime(5_000)
  expect(streams.written.endsWith('2s\r\u001b[K')).toBe(true)
})

test.each([{ quiet: true }, { json: true }])('a script hears nothing: %j', (flags) => {
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
