/** libfaketime of the Debian package: a program that is started with it goes by another clock than the machine's. */
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Below that of the machine's kind: `x86_64-linux-gnu`. */
const LIBRARIES = '/usr/lib'
const LIBRARY = readdirSync(LIBRARIES)
  .map((kind) => join(LIBRARIES, kind, 'faketime/libfaketimeMT.so.1'))
  .find(existsSync)

export const HAS_FAKETIME: boolean = LIBRARY !== undefined

/** What a program is started with. Only the time of day is another, not how long something takes. */
const fake = (clock: Readonly<Record<string, string>>): Record<string, string> => {
  if (LIBRARY === undefined) throw new Error('the package faketime is not installed')
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
