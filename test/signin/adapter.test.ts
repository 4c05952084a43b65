// The protocol library's storage adapter: a one-time artifact is consumed once, also by two concurrent requests.
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { adaptersOf } from '#signin/adapter.ts'
import { handClock } from '#test/support/hand-clock.ts'

const HOUR = 3600

async function openAdapters() {
  const clock = handClock('2026-03-01T12:00:00Z')
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  onTestFinished(() => store.close())
  return adaptersOf(store.signin, clock)
}

test.each(['AuthorizationCode', 'RefreshToken'])(
  'of two concurrent uses of one %s one succeeds, and the other revokes everything issued under the grant',
  async (kind) => {
    const adapterOf = await openAdapters()
    const once = adapterOf(kind)
    const issued = ['AccessToken', 'RefreshToken'].map(adapterOf)
    await once.upsert('once', { kind, grantId: 'g-1' }, 60)
    await adapterOf('Grant').upsert('g-1', { kind: 'Grant' }, HOUR)
    for (const kept of issued) {
      await kept.upsert('given', { grantId: 'g-1' }, HOUR)
      await kept.upsert('elsewhere', { grantId: 'g-2' }, HOUR)
    }
    expect((await once.find('once'))?.['consumed']).toBeUndefined()

    await once.consume('once')
    await expect(once.consume('once')).rejects.toMatchObject({ error: 'invalid_grant' })
    for (const kept of issued) {
      expect(await kept.find('given')).toBeUndefined()
      expect(await kept.find('elsewhere')).toBeDefined()
    }
    expect(await adapterOf('Grant').find('g-1')).toBeUndefined()
  },
)
