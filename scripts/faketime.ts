/** libfaketime of the Debian package: a program that is started with it goes by another clock than the machine's. */
import { existsSync, utimesSync, writeFileSync } from 'node:fs'

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

export const HAS_FAKETIME: boolean = existsSync(LIBRARY)

/** What a program is started with. Only the time of day is another, not how long something takes. */
const fake = (clock: Readonly<Record<string, string>>): Record<string, string> => {
  if (!HAS_FAKETIME) throw new Error('the package faketime is not installed')
  return { LD_PRELOAD: LIBRARY, FAKETIME_DONT_FAKE_MONOTONIC: '1', ...clock }
}

/** By a clock that is so far ahead of the machine's. */
export const aheadBy = (ms: number): Record<string, string> =>
  ms === 0 ? {} : fake({ FAKETIME: `+${ms / 1_000}` })

/** By what this file says whenever it is asked, which `setClock` has written. */
export const byFile = (file: string): Record<string, string> =>
  fake({ FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' })

/** As libfaketime reads it: "+3h", "@2027-03-10 23:58:00". */
export function setClock(file: string, text: string): void {
  writeFileSync(file, `${text}\n`)
  // Without a new time of change it would not be read again.
  const now = Date.now() / 1_000
  utimesSync(file, now, now)
}
