// The SQLite engine keeps the promises of the sign-in provider's port, in memory and on a disk.
import { beforeEach, describe, onTestFinished } from 'vitest'
import { openStore } from '#db/index.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { type SigninBench, signinContract } from './contract/signin.ts'

const PLACES: Readonly<Record<string, () => string>> = {
  'in memory': () => ':memory:',
  'in a directory': tempDirectory,
}

for (const [where, dataDir] of Object.entries(PLACES)) {
  describe(where, () => {
    const bench = {} as { -readonly [Part in keyof SigninBench]: SigninBench[Part] }

    beforeEach(async () => {
      const clock = handClock('2026-08-23T12:00:00Z')
      const masterKey = new Uint8Array(32).fill(7)
      const store = await openStore({ dataDir: dataDir(), clock, masterKey })
      onTestFinished(() => store.close())
      Object.assign(bench, { signin: store.signin, clock })
    })

    signinContract(bench)
  })
}
