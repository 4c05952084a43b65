// The protocol library's storage adapter: a one-time artifact is consumed once, and what has ended is not brought back, however
// requests overlap.

import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { adaptersOf } from '#signin/adapter.ts'
import { rememberReads } from '#signin/request-reads.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'

const HOUR = 3600

async function openAdapters() {
  const clock = handClock('2026-03-01T12:00:00Z')
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  onTestFinished(() => store.close())
  return { adapterOf: adaptersOf(store.signin, clock), store: store.signin, clock }
}

test.each(['AuthorizationCode', 'RefreshToken'])(
  'of two concurrent uses of one %s one succeeds, and the other revokes everything issued under the grant',
  async (kind) => {
    const { adapterOf } = await openAdapters()
    const once = adapterOf(kind)
    const issued = ['AccessToken', 'RefreshToken'].map(adapterOf)
    await rememberReads(async () => {
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
    })
  },
)

const BY_ANN = { accountId: 'usr_ann' as const, clientId: 'wiki' }

test('T10: a request that is overtaken by a revocation leaves nothing, under an old id or a new one', async () => {
  const { adapterOf, store, clock } = await openAdapters()
  const kinds = ['Session', 'Grant', 'Interaction', 'AuthorizationCode', 'AccessToken']
  await rememberReads(() => adapterOf('Session').upsert('old', BY_ANN, HOUR))
  await rememberReads(async () => {
    await adapterOf('Session').find('old')
    await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
    await adapterOf('Session').upsert('old', BY_ANN, HOUR)
    await adapterOf('Session').upsert('new', BY_ANN, HOUR)
    for (const kind of ['Grant', 'Interaction', 'AuthorizationCode']) {
      await expect(adapterOf(kind).upsert('new', BY_ANN, HOUR)).rejects.toMatchObject({
        error: 'login_required',
      })
    }
    for (const kind of ['AccessToken', 'RefreshToken']) {
      await expect(adapterOf(kind).upsert('new', BY_ANN, HOUR)).rejects.toMatchObject({
        error: 'invalid_grant',
      })
    }
    expect(await adapterOf('Session').find('old')).toBeUndefined()
    for (const kind of kinds) expect(await adapterOf(kind).find('new')).toBeUndefined()
  })
  await rememberReads(async () => {
    await adapterOf('Session').upsert('next', BY_ANN, HOUR)
    expect(await adapterOf('Session').find('next')).toBeDefined()
  })
})

test('what another request has ended is not written back', async () => {
  const { adapterOf } = await openAdapters()
  const begin = (kind: string) => rememberReads(() => adapterOf(kind).upsert('id', BY_ANN, HOUR))
  for (const kind of ['Session', 'Grant', 'Interaction']) {
    await begin(kind)
    await rememberReads(async () => {
      await adapterOf(kind).find('id')
      await rememberReads(() => adapterOf(kind).destroy('id'))
      const written = adapterOf(kind).upsert('id', BY_ANN, HOUR)
      // An answer that is complete is not failed because its session has ended.
      if (kind === 'Session') await written
      else await expect(written).rejects.toMatchObject({ error: 'login_required' })
      expect(await adapterOf(kind).find('id')).toBeUndefined()
    })
  }
})

test('the requests of one interaction count as begun with it', async () => {
  const { adapterOf, store, clock } = await openAdapters()
  await rememberReads(() =>
    adapterOf('Interaction').upsert('i', { params: { client_id: 'wiki' } }, HOUR),
  )
  await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
  const completed = { params: { client_id: 'wiki' }, result: { login: BY_ANN } }
  await rememberReads(async () => {
    await adapterOf('Interaction').find('i')
    await expect(adapterOf('Interaction').upsert('i', completed, HOUR)).rejects.toMatchObject({
      error: 'login_required',
    })
    await expect(adapterOf('Grant').upsert('g', BY_ANN, HOUR)).rejects.toThrow()
  })
  await rememberReads(async () => {
    expect((await adapterOf('Interaction').find('i'))?.['result']).toBeUndefined()
  })
})

test('who has completed an interaction loses it with everything else', async () => {
  const { adapterOf, store, clock } = await openAdapters()
  await rememberReads(() =>
    adapterOf('Interaction').upsert('i', { result: { login: BY_ANN } }, HOUR),
  )
  await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
  await rememberReads(async () => {
    expect(await adapterOf('Interaction').find('i')).toBeUndefined()
  })
})
