/** What this process writes to standard output, kept and not shown. */
import { vi } from 'vitest'
import { openOutlets } from '#cli/terminal/streams.ts'

/** The texts, one after the other; a test empties it. */
export const written: string[] = []

vi.spyOn(process.stdout, 'write').mockImplementation((text: unknown, done: unknown) => {
  written.push(String(text))
  if (typeof done === 'function') done()
  return true
})
openOutlets({ out: String, error: String })
