// Telling applications of sign-outs: from a real store to real sockets, of which some do not answer.
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { later } from '#domain/clock.ts'
import { webhookPolicy } from '#notify/webhook-policy.ts'
import { startLogoutCourier } from '#server/logout-courier.ts'
import type { PersonId } from '#signin/register/person.ts'
import { putArtifact } from '#test/db/contract/write-artifacts.ts'
import { until } from '#test/support/appliance.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'
import { never, type Receiver, startReceiver } from '#test/support/receiver.ts'

const SLOW_ONES = 60

/** Applications by their ids, and a courier that may reach them. */
async function open(applications: Readonly<Record<string, Receiver>>) {
  const clock = handClock('2026-08-23T12:00:00Z')
  const { signin, ...store } = await openStore({
    dataDir: ':memory:',
    clock,
    masterKey: new Uint8Array(32).fill(7),
  })
  const at = clock.now()
  for (const id of Object.keys(applications)) {
    const client = {
      ...{ id, name: id, redirectUris: [`https://${id}.example.org/`], logoutUris: [] },
      ...({ requiresPkce: true, access: 'everybody', secretDigest: 'ab'.repeat(32) } as const),
      ...{ isForDevices: false, hasIdTokenClaims: true, createdAt: at, updatedAt: at },
      backchannelLogoutUri: `https://${id}.example.org/logout`,
    }
    await signin.clients.create(client, anAct())
  }
  let sessions = 0
  /** A session of an application, in which nobody is signed in any more. */
  const end = async (clientId: string): Promise<void> => {
    const nth = String(++sessions)
    const personId = `usr_${nth}` as PersonId
    const authorizations = { [clientId]: { sid: `sid-${nth}`, grantId: 'g' } }
    const session = {
      ...({ digest: nth.padStart(64, '0'), kind: 'Session', uid: nth, personId } as const),
      ...{ grantId: null, clientId: null, consumedAt: null, expiresAt: later(at, 600_000) },
      payload: JSON.stringify({ uid: nth, authorizations }),
    }
    const revocations = await signin.artifacts.revocations()
    expect(await putArtifact(signin, session, { revocations })).toBe(true)
    await signin.artifacts.revokePerson(personId, anAct(at))
  }
  const faults: string[] = []
  const start = (): void => {
    const courier = startLogoutCourier({
      logouts: signin.logouts,
      clock,
      policy: webhookPolicy({ loopback: true, private: false }),
      signin: {
        signLogout: async ({ clientId }) => ({
          uri: applications[clientId]?.url ?? '',
          token: 'a signed token',
        }),
      },
      logFault: (cause) => faults.push(String(cause)),
    })
    onTestFinished(async () => {
      await courier.close()
      await store.close()
    })
  }
  return { end, start, faults }
}

test('an application that does not answer delays no other’s', async () => {
  const slow = startReceiver(never)
  const quick = startReceiver(() => new Response())
  const { end, start, faults } = await open({ slow, quick })
  for (let nth = 0; nth < SLOW_ONES; nth++) await end('slow')
  for (let nth = 0; nth < 3; nth++) await end('quick')
  start()
  await until(() => quick.received.length === 3, 'the quick one was told')
  // Those that were tried first, of which none has come to its end.
  expect(slow.received.length).toBeLessThanOrEqual(2)
  expect(faults).toEqual([])
})
