// The protocol library's storage adapter: a one-time artifact is consumed once, and what has ended is not brought back, however
// requests overlap.

import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { adaptersOf } from '#signin/adapter.ts'
import type { SigninEvent } from '#signin/register/signin-event.ts'
import { inOneAct } from '#signin/request-artifacts.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'

const JOURNAL = { kept: (events: readonly SigninEvent[]) => events, told: () => {} }

const HOUR = 3600

async function openAdapters() {
  const clock = handClock('2026-03-01T12:00:00Z')
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir: ':memory:', clock, masterKey })
  onTestFinished(() => store.close())
  const { artifacts } = store.signin
  /** Runs a request; it runs again when another was faster. */
  const request = async <Result>(work: (run: number) => Promise<Result>): Promise<Result> => {
    const results: Result[] = []
    await inOneAct(artifacts, JOURNAL, async () => {
      results.push(await work(results.length + 1))
      return new Response()
    })
    return results.at(-1) as Result
  }
  const adapterOf = adaptersOf(store.signin, clock)
  const find = (kind: string, id: string) => request(() => adapterOf(kind).find(id))
  return { adapterOf, request, find, store: store.signin, clock }
}

test.each(['AuthorizationCode', 'RefreshToken'])(
  'of two concurrent uses of one %s one succeeds, and the other finds it used',
  async (kind) => {
    const { adapterOf, request, find } = await openAdapters()
    const code = adapterOf(kind)
    await request(() => code.upsert('once', { kind, grantId: 'g-1' }, 60))
    const bothHaveRead = Promise.withResolvers<void>()
    let reading = 2
    const use = (token: string) =>
      request(async () => {
        // A refresh token that was used a moment ago is not found.
        const found = await code.find('once')
        const isUsed = found === undefined || found['consumed'] !== undefined
        if (--reading === 0) bothHaveRead.resolve()
        await bothHaveRead.promise
        if (isUsed) return 'used'
        await code.consume('once')
        await adapterOf('AccessToken').upsert(token, { grantId: 'g-1' }, HOUR)
        return token
      })
    const ends = await Promise.all([use('one'), use('two')])
    expect(ends).toContain('used')
    const [token] = ends.filter((end) => end !== 'used')
    for (const name of ['one', 'two']) {
      expect((await find('AccessToken', name)) !== undefined).toBe(name === token)
    }
  },
)

test('what is revoked under a grant is gone, for the request that revokes it too, and nothing else is', async () => {
  const { adapterOf, request, find } = await openAdapters()
  const kinds = ['AccessToken', 'RefreshToken']
  const put = async (id: string, grantId: string) => {
    for (const kind of kinds) await adapterOf(kind).upsert(id, { grantId }, HOUR)
  }
  await request(() => put('given', 'g-1'))
  await request(async () => {
    await put('elsewhere', 'g-2')
    await put('just now', 'g-1')
    for (const kind of kinds) await adapterOf(kind).revokeByGrantId('g-1')
    expect(await adapterOf('AccessToken').find('just now')).toBeUndefined()
  })
  for (const kind of kinds) {
    expect(await find(kind, 'given')).toBeUndefined()
    expect(await find(kind, 'just now')).toBeUndefined()
    expect(await find(kind, 'elsewhere')).toBeDefined()
  }
})

test('a refresh token extends its grant, and never shortens it', async () => {
  const { adapterOf, request, find, clock } = await openAdapters()
  const upsert = (kind: string, seconds: number) => {
    const id = kind === 'Grant' ? 'g-1' : `for ${seconds} seconds`
    return request(() => adapterOf(kind).upsert(id, { grantId: 'g-1' }, seconds))
  }
  const exp = async () => (await find('Grant', 'g-1'))?.['exp']
  const at = clock.now() / 1000
  await upsert('Grant', HOUR)
  await upsert('RefreshToken', 60)
  expect(await exp()).toBe(at + HOUR)
  await upsert('RefreshToken', 2 * HOUR)
  expect(await exp()).toBe(at + 2 * HOUR)
})

const BY_ANN = { accountId: 'usr_ann' as const, clientId: 'wiki' }
const KINDS = [
  'Session',
  'Grant',
  'Interaction',
  'AuthorizationCode',
  'AccessToken',
  'RefreshToken',
]

test.each(KINDS)(
  'T10: a request that is overtaken by a revocation leaves no %s, under an old id or a new one',
  async (kind) => {
    const { adapterOf, request, find, store, clock } = await openAdapters()
    const { upsert, find: findHere } = adapterOf(kind)
    await request(() => upsert('old', BY_ANN, HOUR))
    let runs = 0
    await request(async (run) => {
      runs = run
      if ((await findHere('old')) === undefined) return
      await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
      await upsert('old', BY_ANN, HOUR)
      await upsert('new', BY_ANN, HOUR)
    })
    expect(runs).toBe(2)
    expect(await find(kind, 'old')).toBeUndefined()
    expect(await find(kind, 'new')).toBeUndefined()
    await request(() => upsert('next', BY_ANN, HOUR))
    expect(await find(kind, 'next')).toBeDefined()
  },
)

test.each(KINDS)('no %s that another request has ended is written back', async (kind) => {
  const { adapterOf, request, find } = await openAdapters()
  const { upsert, destroy, find: findHere } = adapterOf(kind)
  await request(() => upsert('id', BY_ANN, HOUR))
  await request(async () => {
    if ((await findHere('id')) === undefined) return
    await request(() => destroy('id'))
    await upsert('id', BY_ANN, HOUR)
  })
  expect(await find(kind, 'id')).toBeUndefined()
})

test('what two requests add to one session at once is all kept', async () => {
  const { adapterOf, request, find } = await openAdapters()
  const sessions = adapterOf('Session')
  await request(() => sessions.upsert('s', {}, HOUR))
  const apps = Array.from({ length: 7 }, (_, n) => `app-${n}`)
  await Promise.all(
    apps.map((app) =>
      request(async () => {
        await sessions.upsert('s', { ...(await sessions.find('s')), [app]: true }, HOUR)
      }),
    ),
  )
  expect(await find('Session', 's')).toMatchObject(Object.fromEntries(apps.map((a) => [a, true])))
})

test('an answer of failure writes nothing', async () => {
  const { adapterOf, find, store } = await openAdapters()
  await inOneAct(store.artifacts, JOURNAL, async () => {
    await adapterOf('Grant').upsert('g', BY_ANN, HOUR)
    return new Response(null, { status: 500 })
  })
  expect(await find('Grant', 'g')).toBeUndefined()
})

test('a request that others overtake again and again is refused in the end', async () => {
  const { adapterOf, request } = await openAdapters()
  const sessions = adapterOf('Session')
  await request(() => sessions.upsert('s', {}, HOUR))
  const endless = request(async () => {
    await sessions.find('s')
    await request(() => sessions.find('s').then(() => sessions.upsert('s', {}, HOUR)))
    await sessions.upsert('s', {}, HOUR)
  })
  await expect(endless).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('the requests of one interaction count as begun with it', async () => {
  const { adapterOf, request, find, store, clock } = await openAdapters()
  const interactions = adapterOf('Interaction')
  await request(() => interactions.upsert('i', { params: { client_id: 'wiki' } }, HOUR))
  await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
  const completed = { params: { client_id: 'wiki' }, result: { login: BY_ANN } }
  for (const [kind, id, payload] of [
    ['Interaction', 'i', completed],
    ['Grant', 'g', BY_ANN],
  ] as const) {
    const late = request(async () => {
      await interactions.find('i')
      await adapterOf(kind).upsert(id, payload, HOUR)
    })
    await expect(late).rejects.toMatchObject({ code: 'store_unavailable' })
  }
  expect((await find('Interaction', 'i'))?.['result']).toBeUndefined()
  expect(await find('Grant', 'g')).toBeUndefined()
})

test('who has completed an interaction loses it with everything else', async () => {
  const { adapterOf, request, find, store, clock } = await openAdapters()
  await request(() => adapterOf('Interaction').upsert('i', { result: { login: BY_ANN } }, HOUR))
  await store.artifacts.revokePerson(BY_ANN.accountId, anAct(clock.now()))
  expect(await find('Interaction', 'i')).toBeUndefined()
})
