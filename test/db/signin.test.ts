// The SQLite engine keeps the promises of the sign-in provider's port, in memory and on a disk.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { newSigningKey } from '#signin/register/signing-key.ts'
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

test('with another master key the old keys and secrets are passed over, and new ones take their place', async () => {
  const dataDir = tempDirectory()
  const clock = handClock('2026-08-23T12:00:00Z')
  const open = (fill: number) =>
    openStore({ dataDir, clock, masterKey: new Uint8Array(32).fill(fill) })
  const first = await open(1)
  await first.signin.keyring.addSigningKey(await newSigningKey(clock.now()))
  await first.signin.keyring.secret('cookies', 'one')
  await first.close()
  const second = await open(2)
  onTestFinished(() => second.close())
  expect(await second.signin.keyring.signingKeys()).toEqual([])
  expect(await second.signin.keyring.secret('cookies', 'two')).toBe('two')
  expect(await second.signin.keyring.secret('cookies', 'three')).toBe('two')
})
