/** What the port of the sign-in provider promises: each act whole, and one winner however many ask at once. */

import { expect, test } from 'vitest'
import { type Instant, instant, later } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import type { Artifact } from '#signin/register/artifact.ts'
import type { Client } from '#signin/register/client.ts'
import type { CodeMail } from '#signin/register/code-mail.ts'
import type { MailCode } from '#signin/register/mail-code.ts'
import { newPerson, type PeopleQuery, type Person } from '#signin/register/person.ts'
import { newSigninEvent, type SigninEventQuery } from '#signin/register/signin-event.ts'
import type { SigninStore } from '#signin/store.ts'
import type { HandClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'
import { aSigningKey } from '#test/support/signing-key.ts'
import { identitiesContract } from './identities.ts'
import { passkeysContract } from './passkeys.ts'
import { aRemoval, aWrite, putArtifact } from './write-artifacts.ts'

export interface SigninBench {
  readonly signin: SigninStore
  readonly clock: HandClock
}

const MINUTE = 60_000

const aClient = (at: HandClock, stated: Partial<Client> = {}): Client => ({
  id: 'wiki_1',
  name: 'Wiki',
  redirectUris: ['https://app.example.org/callback'],
  logoutUris: [],
  requiresPkce: true,
  access: 'everybody',
  secretDigest: 'ab'.repeat(32),
  isForDevices: false,
  backchannelLogoutUri: null,
  hasIdTokenClaims: true,
  createdAt: at.now(),
  updatedAt: at.now(),
  ...stated,
})

const anArtifact = (at: HandClock, stated: Partial<Artifact> = {}): Artifact => ({
  kind: 'AuthorizationCode',
  digest: 'cd'.repeat(32),
  payload: '{"a":1}',
  grantId: null,
  uid: null,
  personId: null,
  clientId: null,
  consumedAt: null,
  expiresAt: later(at.now(), MINUTE),
  ...stated,
})

export function signinContract(bench: SigninBench): void {
  clientsContract(bench)
  amendmentsContract(bench)
  peopleContract(bench)
  artifactsContract(bench)
  revocationsContract(bench)
  logoutsContract(bench)
  groupsContract(bench)
  eventsContract(bench)
  mailCodesContract(bench)
  codeMailsContract(bench)
  keyringContract(bench)
  identitiesContract(bench)
  passkeysContract(bench)
}

function clientsContract(bench: SigninBench): void {
  test('a client is found as it was made, amended, and removed with all that was issued to it', async () => {
    const { clients, artifacts } = bench.signin
    const client = aClient(bench.clock)
    await clients.create(client, anAct())
    await expect(clients.create(client, anAct())).rejects.toMatchObject({ code: 'already_exists' })
    expect(await clients.find(client.id)).toEqual(client)
    expect(await clients.list()).toEqual([client])
    expect(await clients.count()).toBe(1)
    const changed = {
      name: 'Docs',
      requiresPkce: false,
      isForDevices: true,
      hasIdTokenClaims: false,
      backchannelLogoutUri: 'https://a.example/out',
      access: ['staff'],
      logoutUris: ['https://a.example/'],
    }
    const at = later(bench.clock.now(), MINUTE)
    expect(await clients.amend(client.id, changed, anAct(at))).toEqual({
      ...client,
      ...changed,
      updatedAt: at,
    })
    expect(await clients.amend('nobody', changed, anAct(at))).toBeUndefined()
    await putArtifact(bench.signin, anArtifact(bench.clock, { clientId: client.id }))
    expect(await clients.remove(client.id, anAct())).toBe(true)
    expect(await clients.remove(client.id, anAct())).toBe(false)
    expect(await clients.find(client.id)).toBeUndefined()
    expect(await artifacts.find('AuthorizationCode', 'cd'.repeat(32))).toBeUndefined()
  })
}

function amendmentsContract(bench: SigninBench): void {
  test('what is amended at once is all kept: a new secret is not replaced by the old one', async () => {
    const { clients } = bench.signin
    const client = aClient(bench.clock)
    await clients.create(client, anAct())
    const at = later(bench.clock.now(), MINUTE)
    const secretDigest = 'cd'.repeat(32)
    await Promise.all([
      clients.amend(client.id, { secretDigest }, anAct(at)),
      clients.amend(client.id, { name: 'Docs' }, anAct(at)),
    ])
    const amended = { ...client, name: 'Docs', secretDigest, updatedAt: at }
    expect(await clients.find(client.id)).toEqual(amended)
  })
}

function peopleContract(bench: SigninBench): void {
  test('a proved address is one person, whatever its case; a newcomer only where one is brought', async () => {
    const { people } = bench.signin
    const at = bench.clock.now()
    expect(await people.confirmEmail('a@example.org', null, at, 0)).toBeUndefined()
    const first = await people.confirmEmail('A@example.org', newPerson('A@example.org', at), at, 0)
    expect(first).toMatchObject({ email: 'A@example.org', isEmailVerified: true, lastSignInAt: at })
    const again = await people.confirmEmail('a@EXAMPLE.org', newPerson('a@EXAMPLE.org', at), at, 0)
    expect(again).toEqual(first)
    expect(await people.count()).toBe(1)
    expect(await people.findByEmail('a@example.ORG')).toEqual(first)
    await expect(people.add(newPerson('a@example.org', at), anAct())).rejects.toMatchObject({
      code: 'already_exists',
    })
  })

  test('a person keeps their id under another name and address, which is proved anew', async () => {
    const { people } = bench.signin
    const at = bench.clock.now()
    const ann = await people.confirmEmail(
      'ann@example.org',
      newPerson('ann@example.org', at),
      at,
      0,
    )
    if (typeof ann !== 'object') throw new Error('ann was not added')
    await people.add(newPerson('bob@example.org', at), anAct())
    const later = anAct()
    expect(await people.amend(ann.id, { name: 'Ann' }, later)).toEqual({
      ...ann,
      name: 'Ann',
      updatedAt: later.at,
    })
    expect(await people.amend(ann.id, { email: 'Ann@example.org' }, anAct())).toMatchObject({
      email: 'Ann@example.org',
      isEmailVerified: true,
    })
    await expect(people.amend(ann.id, { email: 'BOB@example.org' }, anAct())).rejects.toMatchObject(
      {
        code: 'already_exists',
      },
    )
    const moved = await people.amend(ann.id, { email: 'anne@example.org' }, anAct())
    expect(moved).toMatchObject({ id: ann.id, email: 'anne@example.org', isEmailVerified: false })
    expect(await people.findByEmail('anne@example.org')).toEqual(moved)
    expect(await people.findByEmail('ann@example.org')).toBeUndefined()
    expect(await people.amend('usr_nobody', { name: 'x' }, anAct())).toBeUndefined()
  })

  test('people are listed newest first, by page, address, account and state', async () => {
    const { people } = bench.signin
    const made = []
    for (const name of ['One', 'two', 'three_', 'four%']) {
      const person = newPerson(`${name}@example.org`, bench.clock.now())
      await people.add(person, anAct())
      made.unshift(person)
      if (name !== 'two') bench.clock.advance(1)
    }
    const emails = async (query: Omit<PeopleQuery, 'limit'>, limit = 9) =>
      (await people.list({ ...query, limit })).map(({ email }) => email.split('@')[0])
    const [latest, ...others] = await people.list({ limit: 2 })
    expect(latest).toEqual(made[0])
    const [last] = others
    if (last === undefined) return expect(last).toBeDefined()
    const rest = await people.list({ before: last, limit: 9 })
    const all = [latest, last, ...rest].map((person) => person?.id)
    expect(all).toEqual((await people.list({ limit: 9 })).map(({ id }) => id))
    expect([...all].sort()).toEqual(made.map(({ id }) => id).sort())
    expect(await emails({ matching: 'ONE@' })).toEqual(['One'])
    expect(await emails({ matching: '_' })).toEqual(['three_'])
    expect(await emails({ accountId: 'acct_none' })).toEqual([])
    await people.setDisabled(last.id, true, anAct(bench.clock.now()))
    expect(await emails({ isDisabled: true })).toEqual([last.email.split('@')[0]])
    expect(await emails({ isDisabled: false })).toHaveLength(3)
    expect(await emails({ isDisabled: false, matching: 'four' }, 1)).toEqual(['four%'])
  })

  test('who is disabled loses every artifact and is answered as disabled; who is removed is gone', async () => {
    const { people, artifacts } = bench.signin
    const at = bench.clock.now()
    const person = newPerson('b@example.org', at)
    await people.add(person, anAct())
    const session = anArtifact(bench.clock, { kind: 'Session', personId: person.id, uid: 'u1' })
    await putArtifact(bench.signin, session)
    expect(await artifacts.countSessions(person.id, at)).toBe(1)
    expect(await people.setDisabled(person.id, true, anAct(at))).toMatchObject({ disabledAt: at })
    expect(await artifacts.find('Session', session.digest)).toBeUndefined()
    const proved = await people.confirmEmail('b@example.org', null, later(at, 5), 0)
    expect(proved).toMatchObject({ disabledAt: at, lastSignInAt: null })
    expect(await people.setDisabled(person.id, false, anAct())).toMatchObject({ disabledAt: null })
    await putArtifact(bench.signin, session, { revocations: await artifacts.revocations() })
    expect(await artifacts.revokePerson(person.id, anAct(at))).toBe(1)
    expect(await people.remove(person.id, anAct())).toBe(true)
    expect(await people.remove(person.id, anAct())).toBe(false)
    expect(await people.setDisabled(person.id, true, anAct(at))).toBeUndefined()
  })
}

function artifactsContract(bench: SigninBench): void {
  test('of many who consume at once one does, and who read it before replaces nothing', async () => {
    const { artifacts } = bench.signin
    const code = anArtifact(bench.clock)
    const { kind, digest } = code
    expect(await putArtifact(bench.signin, code)).toBe(true)
    expect(await artifacts.find(kind, digest)).toEqual({ ...code, version: 1, revocations: 0 })
    const used = { ...code, consumedAt: bench.clock.now() }
    const tries = await Promise.all(
      Array.from({ length: 40 }, () => putArtifact(bench.signin, used, { version: 1 })),
    )
    expect(tries.filter((won) => won)).toHaveLength(1)
    expect(await putArtifact(bench.signin, code, { version: 1 })).toBe(false)
    expect(await artifacts.write(aRemoval(code, 1))).toBe(false)
    expect(await artifacts.find(kind, digest)).toEqual({ ...used, version: 2, revocations: 0 })
    expect(await artifacts.find('RefreshToken', digest)).toBeUndefined()
    expect(await artifacts.write(aRemoval(code, 2))).toBe(true)
    expect(await artifacts.find(kind, digest)).toBeUndefined()
    expect(await artifacts.write(aRemoval(code, 2))).toBe(false)
  })

  test('everything of a write is written, or nothing', async () => {
    const { artifacts } = bench.signin
    const one = (kind: string, stated: Partial<Artifact> = {}) =>
      anArtifact(bench.clock, { kind, ...stated })
    const [grant, token, session] = [one('Grant'), one('AccessToken'), one('Session')]
    await putArtifact(bench.signin, one('RefreshToken', { grantId: 'g' }))
    await putArtifact(bench.signin, session)
    const revokedGrants = [{ kind: 'RefreshToken', grantId: 'g' }]
    const write = (version: number) =>
      artifacts.write(
        aWrite(
          [
            { after: grant, version: 0 },
            { after: { ...session, payload: '{"a":2}' }, version },
            { after: token, version: 0 },
          ],
          { revokedGrants },
        ),
      )
    const isThere = async ({ kind, digest }: Artifact) =>
      (await artifacts.find(kind, digest)) !== undefined
    for (const version of [0, 2]) {
      expect(await write(version)).toBe(false)
      expect(await isThere(grant)).toBe(false)
      expect(await isThere(token)).toBe(false)
      expect(await isThere(one('RefreshToken'))).toBe(true)
      expect(await artifacts.find('Session', session.digest)).toMatchObject({ payload: '{"a":1}' })
    }
    expect(await write(1)).toBe(true)
    expect(await isThere(grant)).toBe(true)
    expect(await isThere(token)).toBe(true)
    expect(await isThere(one('RefreshToken'))).toBe(false)
    expect(await artifacts.find('Session', session.digest)).toMatchObject({
      payload: '{"a":2}',
      version: 2,
    })
  })

  test('a person’s artifacts of a kind are found, latest first, until they expire', async () => {
    const { artifacts, people } = bench.signin
    const [ann, bob] = ['ann@x.org', 'bob@x.org'].map((one) => newPerson(one, bench.clock.now()))
    for (const person of [ann, bob]) await people.add(person as Person, anAct())
    const of = (digest: string, stated: Partial<Artifact>) =>
      anArtifact(bench.clock, { digest: digest.repeat(32), kind: 'Session', ...stated })
    const early = of('aa', { personId: ann?.id as never })
    const late = of('bb', { personId: ann?.id as never, expiresAt: later(early.expiresAt, MINUTE) })
    await putArtifact(bench.signin, early)
    await putArtifact(bench.signin, late)
    await putArtifact(bench.signin, of('cc', { personId: ann?.id as never, kind: 'Grant' }))
    await putArtifact(bench.signin, of('dd', { personId: bob?.id as never }))
    const found = async (at: Instant) =>
      (await artifacts.ofPerson('Session', ann?.id as never, at)).map(({ digest }) => digest)
    expect(await found(bench.clock.now())).toEqual([late.digest, early.digest])
    expect(await found(early.expiresAt)).toEqual([late.digest])
  })

  test('what is ended is gone, whatever another request makes of it', async () => {
    const { artifacts } = bench.signin
    const one = anArtifact(bench.clock)
    const other = anArtifact(bench.clock, { digest: 'ef'.repeat(32) })
    for (const artifact of [one, other]) await putArtifact(bench.signin, artifact)
    const ended = artifacts.end([one], anAct())
    const renewed = putArtifact(bench.signin, { ...one, payload: '{"a":2}' }, { version: 1 })
    await Promise.all([ended, renewed])
    expect(await putArtifact(bench.signin, one, { version: 1 })).toBe(false)
    expect(await artifacts.find(one.kind, one.digest)).toBeUndefined()
    expect(await artifacts.find(other.kind, other.digest)).toBeDefined()
    // What there is not is ended too.
    await artifacts.end([one], anAct())
  })

  test('a grant is revoked kind by kind; a session is found by its uid', async () => {
    const { artifacts } = bench.signin
    const grantId = 'grant'
    const add = (kind: string, digest: string, more: Partial<Artifact> = {}) =>
      putArtifact(bench.signin, anArtifact(bench.clock, { kind, digest, ...more }))
    await add('AccessToken', '1', { grantId })
    await add('RefreshToken', '2', { grantId })
    await add('AccessToken', '3', { grantId: 'other' })
    await add('Session', '4', { uid: 'uid' })
    await artifacts.write(aWrite([], { revokedGrants: [{ kind: 'AccessToken', grantId }] }))
    expect(await artifacts.find('AccessToken', '1')).toBeUndefined()
    expect(await artifacts.find('RefreshToken', '2')).toBeDefined()
    expect(await artifacts.find('AccessToken', '3')).toBeDefined()
    expect(await artifacts.findByUid('Session', 'uid')).toMatchObject({ digest: '4', version: 1 })
    expect(await artifacts.findByUid('AccessToken', 'uid')).toBeUndefined()
  })

  test('what expired before is swept, as much as is asked for, and nothing else', async () => {
    const { artifacts } = bench.signin
    const { clock } = bench
    const add = (digest: string, expiresAt: Instant) =>
      putArtifact(bench.signin, anArtifact(clock, { digest, expiresAt }))
    for (const old of ['a', 'b', 'c']) await add(old, instant(clock.now() - 1))
    await add('new', clock.now())
    expect(await artifacts.sweep(clock.now(), 2)).toBe(2)
    expect(await artifacts.sweep(clock.now(), 2)).toBe(1)
    expect(await artifacts.sweep(clock.now(), 2)).toBe(0)
    expect(await artifacts.find('AuthorizationCode', 'a')).toBeUndefined()
    expect(await artifacts.find('AuthorizationCode', 'new')).toBeDefined()
  })
}

function logoutsContract(bench: SigninBench): void {
  const ANN = 'usr_ann' as Person['id']
  const told = { backchannelLogoutUri: 'https://app.example.org/logout' }
  const inSession = (clients: readonly string[], stated: Partial<Artifact> = {}) => {
    const authorizations = clients.map((id) => [id, { sid: `sid-${id}`, grantId: 'g' }])
    const { uid = 'u' } = stated
    return anArtifact(bench.clock, {
      kind: 'Session',
      personId: ANN,
      payload: JSON.stringify({ uid, authorizations: Object.fromEntries(authorizations) }),
      ...stated,
      uid,
    })
  }
  const claim = (until = bench.clock.now()) =>
    bench.signin.logouts.claim(bench.clock.now(), until, { most: 99, mostOfOne: 99, underWay: [] })
  const sids = async () => (await claim()).map(({ sid }) => sid).toSorted()
  const open = async (stated: Partial<Artifact> = {}): Promise<Artifact> => {
    const { clients } = bench.signin
    await clients.create(aClient(bench.clock, { id: 'mail', ...told }), anAct())
    await clients.create(aClient(bench.clock, { id: 'news', ...told }), anAct())
    await clients.create(aClient(bench.clock, { id: 'wiki' }), anAct())
    const session = inSession(['mail', 'news', 'wiki'], stated)
    await putArtifact(bench.signin, session)
    return session
  }

  const endings: Readonly<Record<string, (session: Artifact) => Promise<unknown>>> = {
    'removed by a request': (session) => bench.signin.artifacts.write(aRemoval(session, 1)),
    'ended alone': (session) => bench.signin.artifacts.end([session], anAct()),
    'that of a person who is signed out everywhere': () =>
      bench.signin.artifacts.revokePerson(ANN, anAct(bench.clock.now())),
    'that of a person who is removed': () =>
      bench.signin.people.remove(ANN, anAct(bench.clock.now())),
  }
  test.each(Object.entries(endings))(
    'of a session that is %s, each application in it that has an address is to be told, once',
    async (_how, end) => {
      await end(await open())
      const [first, ...others] = await claim(later(bench.clock.now(), MINUTE))
      expect(first).toMatchObject({ personId: ANN, tries: 0, endedAt: expect.any(Number) })
      expect([first, ...others].map((one) => one?.sid).toSorted()).toEqual(['sid-mail', 'sid-news'])
      expect(await claim()).toEqual([])
      bench.clock.advance(MINUTE)
      expect(await sids()).toEqual(['sid-mail', 'sid-news'])
      await bench.signin.logouts.reschedule(first?.id ?? '', 2, later(bench.clock.now(), MINUTE))
      for (const { id } of others) await bench.signin.logouts.drop(id)
      expect(await claim()).toEqual([])
      bench.clock.advance(MINUTE)
      expect(await claim()).toMatchObject([{ id: first?.id, tries: 2 }])
      await bench.signin.clients.remove(first?.clientId ?? '', anAct())
      expect(await claim()).toEqual([])
    },
  )

  test('of one application no more than its share is claimed, with those that are under way', async () => {
    const { artifacts, logouts } = bench.signin
    await artifacts.end([await open()], anAct())
    const again = inSession(['mail'], { digest: '23'.repeat(32), uid: 'again' })
    await putArtifact(bench.signin, again)
    await artifacts.end([again], anAct())
    const at = bench.clock.now()
    const claimed = async (most: number, mostOfOne: number, ...underWay: string[]) => {
      const found = await logouts.claim(at, at, { most, mostOfOne, underWay })
      return found.map(({ clientId }) => clientId).toSorted()
    }
    expect(await claimed(9, 9)).toEqual(['mail', 'mail', 'news'])
    expect(await claimed(9, 1)).toEqual(['mail', 'news'])
    expect(await claimed(9, 2, 'mail')).toEqual(['mail', 'news'])
    expect(await claimed(9, 1, 'mail')).toEqual(['news'])
    expect(await claimed(9, 2, 'mail', 'mail', 'news', 'news')).toEqual([])
    expect(await claimed(1, 9)).toHaveLength(1)
  })

  test('a session that goes on under another id ends for those applications that it has lost', async () => {
    const { artifacts } = bench.signin
    const session = await open()
    const moved = inSession(['mail', 'news', 'wiki'], { digest: 'ef'.repeat(32) })
    const move = (from: Artifact, to: Artifact) => {
      const added = aWrite([{ after: to, version: 0 }])
      return artifacts.write({
        ...added,
        changes: [...aRemoval(from, 1).changes, ...added.changes],
      })
    }
    expect(await move(session, moved)).toBe(true)
    expect(await sids()).toEqual([])
    await move(moved, inSession(['news'], { digest: '01'.repeat(32) }))
    expect(await sids()).toEqual(['sid-mail'])
    const other = inSession(['news'], { digest: '01'.repeat(32), uid: 'another' })
    await putArtifact(bench.signin, other, { version: 1 })
    expect(await sids()).toEqual(['sid-mail', 'sid-news'])
  })

  test('of a session that has expired nobody is told, nor where a write is refused', async () => {
    const { artifacts } = bench.signin
    const session = await open()
    expect(await artifacts.write(aRemoval(session, 7))).toBe(false)
    expect(await sids()).toEqual([])
    bench.clock.advance(2 * MINUTE)
    await artifacts.end([session], anAct())
    expect(await sids()).toEqual([])
  })
}

function revocationsContract(bench: SigninBench): void {
  const aPerson = async (email: string): Promise<Person> => {
    const person = newPerson(email, bench.clock.now())
    await bench.signin.people.add(person, anAct())
    return person
  }
  const verify = ({ email }: Person, revocations: number) =>
    bench.signin.people.confirmEmail(email, null, bench.clock.now(), revocations)

  test('what was removed since it was read is not brought back, and an id is added once', async () => {
    const { artifacts } = bench.signin
    const artifact = anArtifact(bench.clock)
    const { kind, digest } = artifact
    expect(await putArtifact(bench.signin, artifact, { version: 1 })).toBe(false)
    expect(await putArtifact(bench.signin, artifact)).toBe(true)
    expect(await putArtifact(bench.signin, { ...artifact, payload: '{"a":2}' })).toBe(false)
    expect(await artifacts.find(kind, digest)).toMatchObject(artifact)
    await artifacts.write(aRemoval(artifact, 1))
    expect(await putArtifact(bench.signin, artifact, { version: 1 })).toBe(false)
    expect(await artifacts.find(kind, digest)).toBeUndefined()
  })

  const endings: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
    revoked: ({ id }) => bench.signin.artifacts.revokePerson(id, anAct(bench.clock.now())),
    'disabled and enabled': async ({ id }) => {
      await bench.signin.people.setDisabled(id, true, anAct(bench.clock.now()))
      await bench.signin.people.setDisabled(id, false, anAct())
    },
    removed: ({ id }) => bench.signin.people.remove(id, anAct()),
  }

  test.each(Object.entries(endings))(
    'for a person who is %s, nothing that was begun before is issued; for others it is',
    async (_how, end) => {
      const { artifacts } = bench.signin
      const [ann, bob] = [await aPerson('ann@x.org'), await aPerson('bob@x.org')]
      const before = await artifacts.revocations()
      const put = (digest: string, { id }: Person, revocations: number, version = 0) => {
        const session = anArtifact(bench.clock, { kind: 'Session', digest, personId: id })
        return putArtifact(bench.signin, session, { version, revocations })
      }
      await put('1', ann, before)
      await end(ann)
      expect(await put('1', ann, before, 1)).toBe(false)
      expect(await put('2', ann, before)).toBe(false)
      expect(await artifacts.countSessions(ann.id, bench.clock.now())).toBe(0)
      expect(await put('3', bob, before)).toBe(true)
      const after = await artifacts.revocations()
      expect(after).toBeGreaterThan(before)
      expect(await put('4', ann, after)).toBe(true)
      expect(await artifacts.find('Session', '4')).toMatchObject({ revocations: after })
    },
  )

  test('for a removed client, nothing that was begun before is issued', async () => {
    const { clients } = bench.signin
    const client = aClient(bench.clock)
    await clients.create(client, anAct())
    const token = anArtifact(bench.clock, { clientId: client.id })
    await clients.remove(client.id, anAct())
    expect(await putArtifact(bench.signin, token)).toBe(false)
  })

  test('no count of revocations comes twice, whoever is removed', async () => {
    const { artifacts, people } = bench.signin
    const counts = new Set([await artifacts.revocations()])
    for (const email of ['ann@x.org', 'bob@x.org']) {
      const { id } = await aPerson(email)
      await artifacts.revokePerson(id, anAct(bench.clock.now()))
      counts.add(await artifacts.revocations())
      await people.remove(id, anAct())
      counts.add(await artifacts.revocations())
    }
    expect(counts.size).toBe(5)
  })

  test('a sign-in that began before a revocation verifies nobody; one that began after it does', async () => {
    const { artifacts } = bench.signin
    const ann = await aPerson('ann@x.org')
    const before = await artifacts.revocations()
    expect(await verify(ann, before)).toMatchObject({ isEmailVerified: true })
    bench.clock.advance(MINUTE)
    await artifacts.revokePerson(ann.id, anAct(bench.clock.now()))
    expect(await verify(ann, before)).toBe('revoked')
    const found = await bench.signin.people.find(ann.id)
    expect(found?.lastSignInAt).toBe(bench.clock.now() - MINUTE)
    expect(await verify(ann, await artifacts.revocations())).toMatchObject({ id: ann.id })
  })
}

function groupsContract(bench: SigninBench): void {
  test('a group has its people until they leave it or are removed, and a newcomer is added with it', async () => {
    const { groups, people } = bench.signin
    const at = bench.clock.now()
    const [ann, bob] = [newPerson('ann@example.org', at), newPerson('bob@example.org', at)]
    await people.add(ann, anAct())
    expect(await groups.add('staff', ann.id, null, anAct())).toBe(true)
    expect(await groups.add('staff', ann.id, null, anAct())).toBe(false)
    expect(await groups.add('staff', bob.id, bob, anAct())).toBe(true)
    expect(await groups.add('admins', ann.id, null, anAct())).toBe(true)
    const taken = { ...bob, id: 'usr_other' as const }
    await expect(groups.add('admins', taken.id, taken, anAct())).rejects.toMatchObject({
      code: 'already_exists',
    })
    await expect(groups.add('admins', 'usr_nobody', null, anAct())).rejects.toMatchObject({
      code: 'person_not_found',
    })
    expect(await groups.ofPerson(ann.id)).toEqual(['admins', 'staff'])
    expect(await groups.members('staff')).toEqual([ann, bob])
    expect(await groups.list()).toEqual([
      { name: 'admins', people: 1 },
      { name: 'staff', people: 2 },
    ])
    expect(await groups.remove('staff', ann.id, anAct())).toBe(true)
    expect(await groups.remove('staff', ann.id, anAct())).toBe(false)
    await people.remove(bob.id, anAct())
    expect(await groups.list()).toEqual([{ name: 'admins', people: 1 }])
  })
}

function eventsContract(bench: SigninBench): void {
  test('an event is written with what its request changes, or not at all', async () => {
    const { artifacts, events } = bench.signin
    const event = newSigninEvent(bench.clock.now(), { outcome: 'signed_in', address: '192.0.2.1' })
    const after = anArtifact(bench.clock)
    expect(await artifacts.write(aWrite([{ after, version: 4 }], { events: [event] }))).toBe(false)
    expect(await events.list({ limit: 9 })).toEqual([])
    expect(await artifacts.write(aWrite([{ after, version: 0 }], { events: [event] }))).toBe(true)
    expect(await events.list({ limit: 9 })).toEqual([event])
  })

  test('events are listed newest first, by page, person, application, outcome and time, and lose the oldest', async () => {
    const { artifacts, events, people } = bench.signin
    const start = bench.clock.now()
    const ann = newPerson('ann@example.org', start)
    await people.add(ann, anAct())
    const facts = [
      { outcome: 'code_sent', email: 'Bob@example.org' },
      { outcome: 'signed_in', personId: ann.id, clientId: 'wiki', method: 'code' },
      { outcome: 'wrong_code', email: 'ANN@example.org', clientId: 'wiki' },
      { outcome: 'invalid_client', clientId: 'docs', detail: 'secret' },
    ]
    const noted = []
    for (const fact of facts) {
      const event = newSigninEvent(bench.clock.now(), { address: '192.0.2.1', ...fact })
      await artifacts.write(aWrite([], { events: [event] }))
      noted.push(fact.personId === undefined ? event : { ...event, email: ann.email })
      bench.clock.advance(MINUTE)
    }
    const [first, second, third, fourth] = noted
    const list = (query: Partial<SigninEventQuery>) => events.list({ limit: 9, ...query })
    expect(await list({})).toEqual([fourth, third, second, first])
    expect(await list({ limit: 2 })).toEqual([fourth, third])
    expect(await list({ before: third?.id ?? 'evt_' })).toEqual([second, first])
    expect(await list({ clientId: 'wiki' })).toEqual([third, second])
    expect(await list({ outcome: 'code_sent' })).toEqual([first])
    expect(await list({ refusalsOnly: true })).toEqual([fourth, third])
    expect(await list({ person: { id: ann.id, email: ann.email } })).toEqual([third, second])
    expect(await list({ person: { id: null, email: 'bob@example.org' } })).toEqual([first])
    const [since, until] = [later(start, MINUTE), later(start, 3 * MINUTE)]
    expect(await list({ since, until })).toEqual([third, second])
    expect(await events.trim(until, 2)).toBe(2)
    expect(await list({})).toEqual([fourth, third])
    expect(await events.trim(until, 2)).toBe(1)
    expect(await events.trim(until, 2)).toBe(0)
    expect(await list({})).toEqual([fourth])
  })
}

function mailCodesContract(bench: SigninBench): void {
  const bounds = {
    perPair: { most: 2, withinMs: 15 * MINUTE },
    network: {
      perEmail: { most: 5, withinMs: 60 * MINUTE },
      reserve: { most: 1, withinMs: 15 * MINUTE },
      perPeer: { most: 4, withinMs: 60 * MINUTE },
      perSite: { most: 6, withinMs: 60 * MINUTE },
    },
    lookbackMs: 60 * MINUTE,
  }
  const code = (stated: Partial<MailCode> = {}): MailCode => ({
    interaction: 'i1',
    email: 'c@example.org',
    digest: 'ef'.repeat(32),
    peer: '192.0.2.1',
    site: null,
    issuedAt: bench.clock.now(),
    expiresAt: later(bench.clock.now(), 10 * MINUTE),
    ...stated,
  })

  test('five tries, however many at once; the right code is used up by one', async () => {
    const { mailCodes } = bench.signin
    const at = bench.clock.now()
    await mailCodes.issue(code(), bounds, null)
    const wrong = await Promise.all(
      Array.from({ length: 20 }, () => mailCodes.redeem('i1', 'wrong', at)),
    )
    expect(wrong.filter(({ verdict }) => verdict === 'wrong')).toHaveLength(4)
    expect(await mailCodes.redeem('i1', code().digest, at)).toEqual({ verdict: 'spent' })
    await mailCodes.issue(code(), bounds, null)
    const right = await Promise.all(
      Array.from({ length: 5 }, () => mailCodes.redeem('i1', code().digest, at)),
    )
    expect(right.filter(({ verdict }) => verdict === 'right')).toHaveLength(1)
    expect(await mailCodes.pending('i1')).toMatchObject({ isUsed: true })
  })

  test('a code dies with its time, with its successor, and when it is dropped', async () => {
    const { mailCodes } = bench.signin
    const at = bench.clock.now()
    await mailCodes.issue(code(), bounds, null)
    expect(await mailCodes.pending('i1')).toMatchObject({
      email: 'c@example.org',
      attemptsLeft: 5,
      isUsed: false,
    })
    expect(await mailCodes.redeem('i1', code().digest, code().expiresAt)).toEqual({
      verdict: 'expired',
    })
    await mailCodes.issue(code({ digest: '01'.repeat(32) }), bounds, null)
    expect(await mailCodes.redeem('i1', code().digest, at)).toMatchObject({ verdict: 'wrong' })
    await mailCodes.drop('i1')
    expect(await mailCodes.redeem('i1', '01'.repeat(32), at)).toEqual({ verdict: 'expired' })
  })

  test('bounds count by address without its case from one network, and by network, and lift when the oldest is out', async () => {
    const { mailCodes } = bench.signin
    const { clock } = bench
    const first = clock.now()
    expect(await mailCodes.issue(code(), bounds, null)).toEqual({ isIssued: true, lately: 1 })
    clock.advance(MINUTE)
    expect(await mailCodes.issue(code(), bounds, null)).toEqual({ isIssued: true, lately: 2 })
    const kept = await mailCodes.pending('i1')
    expect(await mailCodes.issue(code({ email: 'C@example.org' }), bounds, null)).toEqual({
      isIssued: false,
      nextAt: later(first, 15 * MINUTE),
    })
    expect(await mailCodes.pending('i1')).toEqual(kept)
    await mailCodes.issue(code({ email: 'd@example.org' }), bounds, null)
    await mailCodes.issue(code({ email: 'e@example.org' }), bounds, null)
    expect(await mailCodes.issue(code({ email: 'f@example.org' }), bounds, null)).toEqual({
      isIssued: false,
      nextAt: later(first, 60 * MINUTE),
    })
    // An address that begins with the other's digits is another network.
    const near = code({ email: 'f@example.org', peer: '192.0.2.12' })
    expect(await mailCodes.issue(near, bounds, null)).toMatchObject({ isIssued: true })
    expect(await mailCodes.issuedTo('C@example.org', later(first, -1))).toBe(2)
    expect(await mailCodes.issuedTo('C@example.org', first)).toBe(1)
    clock.advance(60 * MINUTE)
    expect(await mailCodes.sweep(first, 9)).toBe(0)
    expect(await mailCodes.sweep(clock.now(), 3)).toBe(3)
    expect(await mailCodes.sweep(clock.now(), 9)).toBeGreaterThan(0)
    expect(await mailCodes.sweep(clock.now(), 9)).toBe(0)
    expect(await mailCodes.issue(code(), bounds, null)).toEqual({ isIssued: true, lately: 1 })
  })

  test('an address that many ask for still gets a code from every network and every known browser', async () => {
    const { mailCodes } = bench.signin
    for (let n = 0; n < 5; n++) {
      const stranger = code({ interaction: `s${n}`, peer: `198.51.100.${n}` })
      expect(await mailCodes.issue(stranger, bounds, null)).toMatchObject({ isIssued: true })
    }
    const own = code({ interaction: 'own', peer: '203.0.113.9' })
    expect(await mailCodes.issue(own, bounds, null)).toMatchObject({ isIssued: true })
    bench.clock.advance(MINUTE)
    // Its reserve is used up, for a quarter of an hour.
    expect(await mailCodes.issue(own, bounds, null)).toEqual({
      isIssued: false,
      nextAt: later(bench.clock.now(), 14 * MINUTE),
    })
    const known = code({ interaction: 'known', peer: 'browser:1' })
    const ofKnown = { ...bounds, network: null }
    for (const isIssued of [true, true, false]) {
      expect(await mailCodes.issue(known, ofKnown, null)).toMatchObject({ isIssued })
    }
  })

  test('the networks of one site count together: by address, and in total', async () => {
    const { mailCodes } = bench.signin
    const from = (network: number, email: string, site = '2001:db8:7:') =>
      mailCodes.issue(
        code({ interaction: `${email}${network}`, email, site, peer: `${site}${network}::/64` }),
        bounds,
        null,
      )
    const same = [await from(1, 'c@example.org'), await from(2, 'c@example.org')]
    expect([...same, await from(3, 'c@example.org')].map(({ isIssued }) => isIssued)).toEqual([
      true,
      true,
      false,
    ])
    expect(await from(3, 'c@example.org', '2001:db8:70:')).toMatchObject({ isIssued: true })
    for (let n = 0; n < 4; n++) {
      expect(await from(n, `d${n}@example.org`)).toMatchObject({ isIssued: true })
    }
    expect(await from(9, 'e@example.org')).toMatchObject({ isIssued: false })
    expect(await from(9, 'e@example.org', '2001:db8:70:')).toMatchObject({ isIssued: true })
  })

  test('a bound that was reached on a clock a day ahead does not last that day', async () => {
    const { mailCodes } = bench.signin
    for (let n = 0; n < 2; n++) await mailCodes.issue(code(), bounds, null)
    expect(await mailCodes.issue(code(), bounds, null)).toMatchObject({ isIssued: false })
    bench.clock.advance(-24 * 60 * MINUTE)
    expect(await mailCodes.issue(code(), bounds, null)).toMatchObject({ isIssued: true })
  })
}

function codeMailsContract(bench: SigninBench): void {
  const bounds = {
    perPair: { most: 3, withinMs: 15 * MINUTE },
    network: null,
    lookbackMs: 60 * MINUTE,
  }
  const issue = (interaction: string, mail: CodeMail | null) =>
    bench.signin.mailCodes.issue(
      {
        interaction,
        email: `${interaction}@example.org`,
        digest: 'ef'.repeat(32),
        peer: '192.0.2.9',
        site: null,
        issuedAt: bench.clock.now(),
        expiresAt: later(bench.clock.now(), 10 * MINUTE),
      },
      bounds,
      mail && { id: newEventId(bench.clock.now()), mail },
    )
  const aMail = (subject: string): CodeMail => ({
    to: 'g@example.org',
    subject,
    text: 'a',
    html: 'b',
  })
  /** What is due, each leased for a moment that is over at once: it is still due. */
  const due = async (limit = 9) => {
    const at = bench.clock.now()
    const { mails, nextAt } = await bench.signin.codeMails.claim(at, at, limit)
    return { subjects: mails.map(({ mail }) => mail.subject), nextAt, mails }
  }

  test('a mail waits from its code on, put off when it fails, and is gone once it is dropped or over', async () => {
    const { codeMails } = bench.signin
    const { clock } = bench
    expect(await due()).toEqual({ subjects: [], nextAt: null, mails: [] })
    await issue('i1', aMail('one'))
    clock.advance(1)
    await issue('i2', aMail('two'))
    expect(await due(1)).toMatchObject({ subjects: ['one'], nextAt: clock.now() })
    expect((await due()).subjects.sort()).toEqual(['one', 'two'])
    const one = (await due()).mails.find(({ interaction }) => interaction === 'i1')
    expect(one).toMatchObject({ interaction: 'i1', mail: aMail('one'), tries: 0 })
    if (one === undefined) throw new Error('no mail was claimed')
    const then = later(clock.now(), MINUTE)
    await codeMails.reschedule(one, 1, then)
    expect(await due()).toMatchObject({ subjects: ['two'] })
    clock.set(then)
    const again = (await due()).mails.find(({ interaction }) => interaction === 'i1')
    expect(again).toEqual({ ...one, tries: 1 })
    await codeMails.drop(one)
    expect(await due()).toMatchObject({ subjects: ['two'] })
    clock.advance(9 * MINUTE)
    expect(await due()).toEqual({ subjects: [], nextAt: null, mails: [] })
  })

  test('a mail is claimed once until its lease ends: by its time, a failure, or a later mail', async () => {
    const { codeMails } = bench.signin
    const { clock } = bench
    const claim = async () => {
      const at = clock.now()
      const { mails, nextAt } = await codeMails.claim(at, later(at, MINUTE), 2)
      return { subjects: mails.map(({ mail }) => mail.subject), nextAt, mails }
    }
    for (const name of ['one', 'two', 'three']) {
      await issue(name, aMail(name))
      clock.advance(1)
    }
    const claims = await Promise.all([claim(), claim(), claim()])
    // Who of them comes first is not said.
    const [first, second, last] = claims.toSorted((a, b) => b.mails.length - a.mails.length)
    expect([first?.subjects, second?.subjects, last?.subjects]).toEqual([
      ['one', 'two'],
      ['three'],
      [],
    ])
    expect(last?.nextAt).toBe(later(clock.now(), MINUTE))
    const [one] = first?.mails ?? []
    if (one === undefined) throw new Error('no mail was claimed')
    await codeMails.reschedule(one, 0, clock.now())
    expect((await claim()).subjects).toEqual(['one'])
    await issue('two', aMail('second'))
    expect((await claim()).subjects).toEqual(['second'])
    clock.advance(MINUTE)
    expect([...(await claim()).subjects, ...(await claim()).subjects].sort()).toEqual([
      'one',
      'second',
      'three',
    ])
  })

  test('a later mail takes the place of an earlier one, which then moves nothing; a refusal leaves it', async () => {
    const { codeMails, mailCodes } = bench.signin
    await issue('i1', aMail('old'))
    const [old] = (await due()).mails
    await issue('i1', aMail('new'))
    if (old === undefined) throw new Error('no mail was claimed')
    await codeMails.reschedule(old, 1, later(bench.clock.now(), MINUTE))
    await codeMails.drop(old)
    expect((await due()).subjects).toEqual(['new'])
    await issue('i1', aMail('third'))
    expect(await issue('i1', aMail('fourth'))).toMatchObject({ isIssued: false })
    expect((await due()).subjects).toEqual(['third'])
    await mailCodes.drop('i1')
    expect((await due()).subjects).toEqual([])
  })
}

function keyringContract(bench: SigninBench): void {
  test('the newest key signs, those before it are kept until they are swept; a secret is kept once', async () => {
    const { keyring } = bench.signin
    const { clock } = bench
    expect(await keyring.current()).toBeNull()
    const first = await aSigningKey(clock.now())
    expect(await keyring.addSigningKey(first, null, null)).toBe(true)
    clock.advance(MINUTE)
    const second = await aSigningKey(clock.now())
    expect(await keyring.addSigningKey(second, null, anAct())).toBe(false)
    expect(await keyring.addSigningKey(second, first.id, anAct())).toBe(true)
    expect(await keyring.current()).toBe(second.id)
    expect(await keyring.signingKeys()).toEqual([second, { ...first, retiredAt: clock.now() }])
    expect(await keyring.sweep(later(clock.now(), 1), 9)).toBe(1)
    expect(await keyring.sweep(later(clock.now(), 1), 9)).toBe(0)
    expect(await keyring.signingKeys()).toEqual([second])
    expect(await keyring.secret('cookies', 'one')).toBe('one')
    expect(await keyring.secret('cookies', 'two')).toBe('one')
    expect(await keyring.secret('mail-codes', 'three')).toBe('three')
  })

  test('of several who add a first key or a secret at once, one does', async () => {
    const { keyring } = bench.signin
    const keys = await Promise.all([1, 2, 3].map(() => aSigningKey(bench.clock.now())))
    const added = await Promise.all(keys.map((key) => keyring.addSigningKey(key, null, null)))
    expect(added.filter((isAdded) => isAdded)).toHaveLength(1)
    expect(await keyring.signingKeys()).toEqual([keys[added.indexOf(true)]])
    const secrets = ['one', 'two', 'three'].map((fresh) => keyring.secret('identities', fresh))
    expect(new Set(await Promise.all(secrets)).size).toBe(1)
  })
}
