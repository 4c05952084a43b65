// The provider's own secrets: nothing signed with another key, above all an empty one, is accepted.
import { createHmac } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { identityReach } from '#server/identity-reach.ts'
import { openSigninProvider } from '#signin/open.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { keepSigningKey } from '#test/support/signing-key.ts'
import { ISSUER, openTestSignin } from './identities/test-signin.ts'

test('T9: a cookie signed with an empty or a guessed key is not accepted; one signed with the stored key is', async () => {
  const deps = await openTestSignin()
  const { url } = await deps.start(deps.browser())
  const uid = new URL(url).pathname.split('/').at(-1)
  const signedBy = async (signature: string) => {
    const cookie = `interaction=${uid}; interaction.sig=${signature}`
    return (await deps.browser({ cookie }).open(url)).status
  }
  const context = (key: string) =>
    signedBy(createHmac('sha1', key).update(`interaction=${uid}`).digest('base64url'))
  const kept = await deps.store.keyring.secret('cookies', 'none was kept')
  expect(await context(kept)).toBe(200)
  for (const guess of ['', ' ', 'secret', 'keyboard cat', '0'.repeat(43)]) {
    expect([guess, await context(guess)]).toEqual([guess, 400])
  }
  for (const garbage of ['x', 'x'.repeat(27), `${'x'.repeat(26)}é`, 'x'.repeat(99)]) {
    expect([garbage, await signedBy(garbage)]).toEqual([garbage, 400])
  }
  expect(deps.faults).toEqual([])
})

test.each(['cookies', 'mail-codes', 'identities'])(
  'T9: a stored secret for %s that is empty or short keeps the sign-in provider from starting',
  async (weak) => {
    const clock = handClock(new Date().toISOString())
    const masterKey = new Uint8Array(32).fill(7)
    const store = await openStore({ dataDir: ':memory:', clock, masterKey })
    onTestFinished(() => store.close())
    const { signin } = store
    await keepSigningKey(signin.keyring, clock.now())
    for (const secret of ['', 'short', 'x'.repeat(42)]) {
      const keyring = {
        ...signin.keyring,
        secret: async (name: 'cookies' | 'mail-codes' | 'identities', fresh: string) =>
          name === weak ? secret : await signin.keyring.secret(name, fresh),
      }
      const deps = {
        store: { ...signin, keyring },
        clock,
        issuer: ISSUER,
        codeDelivery: { kind: 'none' },
        reach: identityReach(false),
        signup: 'open' as const,
        logFault() {},
      } as const
      await expect(openSigninProvider(deps)).rejects.toThrow(`secret for ${weak} is too short`)
    }
  },
)
