/** What the port promises of passkeys: one answer per challenge, a counter that only grows, and nothing left of who is gone. */

import { expect, test } from 'vitest'
import { later } from '#domain/clock.ts'
import { MAX_PASSKEYS, type Passkey, type PasskeyChallenge } from '#signin/register/passkey.ts'
import { newPerson, type Person } from '#signin/register/person.ts'
import { newSigninEvent } from '#signin/register/signin-event.ts'
import { anAct, aPasskey } from '#test/support/nouns.ts'
import type { SigninBench } from './signin.ts'

const MINUTE = 60_000

async function aPerson({ signin, clock }: SigninBench, email = 'ann@example.org'): Promise<Person> {
  const at = clock.now()
  const person = await signin.people.confirmEmail(email, newPerson(email, at), at, 0)
  if (typeof person !== 'object') throw new Error(`${email} was not added`)
  return person
}

/** Adds it, and answers what the store says. */
const add = async ({ signin, clock }: SigninBench, passkey: Passkey, revocations?: number) =>
  signin.passkeys.add(
    passkey,
    newSigninEvent(clock.now(), {
      outcome: 'passkey_added',
      personId: passkey.personId,
      address: '192.0.2.1',
    }),
    revocations ?? (await signin.artifacts.revocations()),
  )

export function passkeysContract(bench: SigninBench): void {
  challengesContract(bench)
  additionsContract(bench)
  usesContract(bench)
  endsContract(bench)
}

function challengesContract(bench: SigninBench): void {
  const holder = 'ab'.repeat(32)
  const aChallenge = (stated: Partial<PasskeyChallenge> = {}): PasskeyChallenge => ({
    holder,
    purpose: 'use',
    challenge: 'c-1',
    expiresAt: later(bench.clock.now(), MINUTE),
    ...stated,
  })

  test('a challenge is taken once, however many ask at the same time, for its purpose alone', async () => {
    const { passkeys } = bench.signin
    await passkeys.challenge(aChallenge())
    const at = bench.clock.now()
    expect(await passkeys.take(holder, 'add', at)).toBeUndefined()
    expect(await passkeys.take('cd'.repeat(32), 'use', at)).toBeUndefined()
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => passkeys.take(holder, 'use', at)),
    )
    expect(taken.filter((one) => one !== undefined)).toEqual(['c-1'])
  })

  test('a new challenge replaces the old one; one that has expired is not taken, and swept', async () => {
    const { passkeys } = bench.signin
    await passkeys.challenge(aChallenge())
    await passkeys.challenge(aChallenge({ challenge: 'c-2' }))
    const { expiresAt } = aChallenge()
    expect(await passkeys.take(holder, 'use', expiresAt)).toBeUndefined()
    expect(await passkeys.sweep(expiresAt, 10)).toBe(0)
    expect(await passkeys.sweep(later(expiresAt, 1), 10)).toBe(1)
    expect(await passkeys.take(holder, 'use', bench.clock.now())).toBeUndefined()
    await passkeys.challenge(aChallenge({ challenge: 'c-3' }))
    expect(await passkeys.take(holder, 'use', bench.clock.now())).toBe('c-3')
  })
}

function additionsContract(bench: SigninBench): void {
  test('a passkey is found as it was added, with its event; by whomever, it is added once', async () => {
    const { passkeys, events } = bench.signin
    const [ann, bob] = [await aPerson(bench), await aPerson(bench, 'bob@example.org')]
    const passkey = aPasskey(ann.id, bench.clock.now())
    expect(await add(bench, passkey)).toBe('added')
    expect(await passkeys.find(passkey.credentialId)).toEqual(passkey)
    expect(await passkeys.ofPerson(ann.id)).toEqual([passkey])
    const { credentialId } = passkey
    expect(await add(bench, aPasskey(bob.id, bench.clock.now(), { credentialId }))).toBe('known')
    expect(await passkeys.ofPerson(bob.id)).toEqual([])
    const told = await events.list({ limit: 10 })
    expect(told.map(({ outcome, email }) => [outcome, email])).toEqual([
      ['passkey_added', 'ann@example.org'],
    ])
  })

  test('a person has so many, and none more', async () => {
    const { passkeys } = bench.signin
    const ann = await aPerson(bench)
    for (let place = 0; place < MAX_PASSKEYS; place++) {
      const at = later(bench.clock.now(), place)
      expect(await add(bench, aPasskey(ann.id, at))).toBe('added')
    }
    expect(await add(bench, aPasskey(ann.id, bench.clock.now()))).toBe('too_many')
    const made = (await passkeys.ofPerson(ann.id)).map(({ createdAt }) => createdAt)
    expect(made).toEqual(made.toSorted((one, other) => one - other))
    expect(made.length).toBe(MAX_PASSKEYS)
  })

  test('who was revoked meanwhile, is disabled or gone gets none', async () => {
    const { passkeys, artifacts, people, events } = bench.signin
    const ann = await aPerson(bench)
    const before = await artifacts.revocations()
    await artifacts.revokePerson(ann.id, anAct())
    expect(await add(bench, aPasskey(ann.id, bench.clock.now()), before)).toBe('revoked')
    await people.setDisabled(ann.id, true, anAct())
    expect(await add(bench, aPasskey(ann.id, bench.clock.now()))).toBe('revoked')
    await people.remove(ann.id, anAct())
    expect(await add(bench, aPasskey(ann.id, bench.clock.now()))).toBe('revoked')
    expect(await passkeys.ofPerson(ann.id)).toEqual([])
    expect(await events.list({ limit: 10 })).toEqual([])
  })
}

function usesContract(bench: SigninBench): void {
  const use = async (passkey: Passkey, counter: number) =>
    bench.signin.passkeys.use(
      { credentialId: passkey.credentialId, counter, at: later(bench.clock.now(), MINUTE) },
      await bench.signin.artifacts.revocations(),
    )

  test('a use names the person, and is noted; the counter must grow, unless the device does not count', async () => {
    const { passkeys } = bench.signin
    const ann = await aPerson(bench)
    const at = later(bench.clock.now(), MINUTE)
    const [counts, still] = [
      aPasskey(ann.id, bench.clock.now()),
      aPasskey(ann.id, bench.clock.now()),
    ]
    for (const one of [counts, still]) await add(bench, one)
    expect(await use(counts, 5)).toEqual({ ...ann, lastSignInAt: at })
    expect(await passkeys.find(counts.credentialId)).toEqual({
      ...counts,
      counter: 5,
      lastUsedAt: at,
    })
    for (const counter of [5, 4, 0])
      expect([counter, await use(counts, counter)]).toEqual([counter, 'cloned'])
    expect(await passkeys.find(counts.credentialId)).toMatchObject({ counter: 5 })
    expect(await use(counts, 6)).toMatchObject({ id: ann.id })
    for (let times = 0; times < 2; times++)
      expect(await use(still, 0)).toMatchObject({ id: ann.id })
    expect(await use(aPasskey(ann.id, at), 1)).toBeUndefined()
  })

  test('of two uses with the same counter, one is a clone', async () => {
    const ann = await aPerson(bench)
    const passkey = aPasskey(ann.id, bench.clock.now())
    await add(bench, passkey)
    const both = await Promise.all([use(passkey, 1), use(passkey, 1)])
    expect(both.map((one) => (typeof one === 'object' ? 'person' : one)).toSorted()).toEqual([
      'cloned',
      'person',
    ])
  })

  test('who was revoked since it began is refused; a disabled person is returned unchanged', async () => {
    const { artifacts, people, passkeys } = bench.signin
    const ann = await aPerson(bench)
    const passkey = aPasskey(ann.id, bench.clock.now())
    await add(bench, passkey)
    const begun = await artifacts.revocations()
    await artifacts.revokePerson(ann.id, anAct())
    const { credentialId } = passkey
    const at = later(bench.clock.now(), MINUTE)
    expect(await passkeys.use({ credentialId, counter: 1, at }, begun)).toBe('revoked')
    const disabled = await people.setDisabled(ann.id, true, anAct())
    expect(await use(passkey, 1)).toEqual(disabled)
    expect(await passkeys.find(credentialId)).toEqual(passkey)
  })
}

function endsContract(bench: SigninBench): void {
  test('a passkey is removed by its own person alone, with the act', async () => {
    const { passkeys } = bench.signin
    const [ann, bob] = [await aPerson(bench), await aPerson(bench, 'bob@example.org')]
    const passkey = aPasskey(ann.id, bench.clock.now())
    await add(bench, passkey)
    expect(await passkeys.remove(bob.id, passkey.id, anAct())).toBe(false)
    expect(await passkeys.remove(ann.id, passkey.id, anAct())).toBe(true)
    expect(await passkeys.remove(ann.id, passkey.id, anAct())).toBe(false)
    expect(await passkeys.find(passkey.credentialId)).toBeUndefined()
  })

  test('with the person go their passkeys', async () => {
    const { passkeys, people } = bench.signin
    const ann = await aPerson(bench)
    const passkey = aPasskey(ann.id, bench.clock.now())
    await add(bench, passkey)
    await people.remove(ann.id, anAct())
    expect(await passkeys.find(passkey.credentialId)).toBeUndefined()
  })

  test('an address that is verified for the first time ends the passkeys from before', async () => {
    const { passkeys, people } = bench.signin
    const ann = await aPerson(bench)
    await add(bench, aPasskey(ann.id, bench.clock.now()))
    await people.confirmEmail(ann.email, null, bench.clock.now(), 0)
    expect(await passkeys.ofPerson(ann.id)).toHaveLength(1)
    await people.amend(ann.id, { email: 'anne@example.org' }, anAct())
    expect(await passkeys.ofPerson(ann.id)).toHaveLength(1)
    await people.confirmEmail('anne@example.org', null, bench.clock.now(), 0)
    expect(await passkeys.ofPerson(ann.id)).toEqual([])
  })
}
