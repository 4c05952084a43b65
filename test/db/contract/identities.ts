/** What the port promises of third parties: one owner per identity, one return per state, and nothing left of who is gone. */

import { expect, test } from 'vitest'
import { later } from '#domain/clock.ts'
import type { ClaimedIdentity } from '#signin/register/identity.ts'
import type { IdentityProvider } from '#signin/register/identity-provider.ts'
import { newPerson, type Person } from '#signin/register/person.ts'
import type { HandClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'
import type { SigninBench } from './signin.ts'
import { putArtifact } from './write-artifacts.ts'

const MINUTE = 60_000

const anIdentityProvider = (
  clock: HandClock,
  stated: Partial<IdentityProvider> = {},
): IdentityProvider => ({
  name: 'sso',
  type: 'oidc',
  label: 'Example SSO',
  issuer: 'https://sso.example.org',
  clientId: 'gateway',
  authoritativeFor: ['example.org'],
  createdAt: clock.now(),
  updatedAt: clock.now(),
  ...stated,
})

const anIdentity = (stated: Partial<ClaimedIdentity> = {}): ClaimedIdentity => ({
  issuer: 'https://sso.example.org',
  subject: 's-1',
  claimedName: 'ann',
  ...stated,
})

async function aProved(bench: SigninBench, email: string): Promise<Person> {
  const at = bench.clock.now()
  const person = await bench.signin.people.confirmEmail(email, newPerson(email, at), at, 0)
  if (typeof person !== 'object') throw new Error(`${email} was not added`)
  return person
}

export function identitiesContract(bench: SigninBench): void {
  providersContract(bench)
  arrivalsContract(bench)
  revokedContract(bench)
  linksContract(bench)
  detoursContract(bench)
}

function providersContract(bench: SigninBench): void {
  test('an identity provider is found as it was added; name and issuer are taken once; its secret is apart', async () => {
    const { identityProviders } = bench.signin
    const sso = anIdentityProvider(bench.clock)
    await identityProviders.add(sso, 'shh', anAct())
    expect(await identityProviders.find('sso')).toEqual(sso)
    expect(await identityProviders.list()).toEqual([sso])
    expect(await identityProviders.secret('sso')).toBe('shh')
    for (const taken of [{ issuer: 'https://other.example' }, { name: 'other' }]) {
      await expect(
        identityProviders.add(anIdentityProvider(bench.clock, taken), 'x', anAct()),
      ).rejects.toMatchObject({ code: 'already_exists' })
    }
    await expect(identityProviders.secret('nobody')).rejects.toMatchObject({
      code: 'provider_not_found',
    })
  })

  test('what is amended is all but name, type and issuer; the secret only when one is brought', async () => {
    const { identityProviders } = bench.signin
    const sso = anIdentityProvider(bench.clock)
    await identityProviders.add(sso, 'shh', anAct())
    const changed = { label: 'New', clientId: 'two', authoritativeFor: [] }
    const at = later(bench.clock.now(), MINUTE)
    const amended = { ...sso, ...changed, updatedAt: at }
    expect(await identityProviders.amend('sso', changed, anAct(at))).toEqual(amended)
    expect(await identityProviders.find('sso')).toEqual(amended)
    expect(await identityProviders.secret('sso')).toBe('shh')
    expect(await identityProviders.amend('sso', { secret: 'hush' }, anAct(at))).toEqual(amended)
    expect(await identityProviders.secret('sso')).toBe('hush')
    expect(await identityProviders.amend('nobody', { secret: 'x' }, anAct(at))).toBeUndefined()
  })

  test('identities and detours end with their provider, even if it is added again', async () => {
    const { identityProviders, identities, detours } = bench.signin
    const { clock } = bench
    const sso = anIdentityProvider(clock)
    await identityProviders.add(sso, 'shh', anAct())
    const ann = await aProved(bench, 'ann@example.org')
    await identities.link(anIdentity(), ann.id, clock.now(), 0)
    const detour = { interaction: 'i', provider: 'sso', state: 'st' }
    await detours.begin({ ...detour, expiresAt: later(clock.now(), MINUTE) })
    expect(await identityProviders.remove('sso', anAct())).toBe(true)
    expect(await identityProviders.remove('sso', anAct())).toBe(false)
    await identityProviders.add(sso, 'shh', anAct())
    expect(await detours.end(detour, clock.now())).toBe(false)
    expect(await identities.recognise(anIdentity(), null, clock.now(), 0)).toBeUndefined()
  })
}

function arrivalsContract(bench: SigninBench): void {
  test('a linked identity is recognised by issuer and subject alone', async () => {
    const { identityProviders, identities } = bench.signin
    const { clock } = bench
    await identityProviders.add(anIdentityProvider(clock), 'shh', anAct())
    const ann = await aProved(bench, 'ann@example.org')
    expect(await identities.link(anIdentity(), ann.id, clock.now(), 0)).toBe(true)
    clock.advance(MINUTE)
    const at = clock.now()
    const came = await identities.recognise(
      anIdentity({ claimedName: 'renamed' }),
      'bob@example.org',
      at,
      0,
    )
    expect(came).toEqual({ ...ann, lastSignInAt: at })
    expect(await identities.ofPerson(ann.id)).toEqual([
      {
        ...anIdentity({ claimedName: 'renamed' }),
        personId: ann.id,
        linkedAt: later(at, -MINUTE),
        lastUsedAt: at,
      },
    ])
    expect(await identities.recognise(anIdentity({ subject: 'S-1' }), null, at, 0)).toBeUndefined()
    expect(
      await identities.recognise(anIdentity({ issuer: 'https://other.example' }), null, at, 0),
    ).toBeUndefined()
  })

  test('a vouched address links only a person whose address was verified by a code', async () => {
    const { identityProviders, identities, people } = bench.signin
    const { clock } = bench
    const at = clock.now()
    await identityProviders.add(anIdentityProvider(clock), 'shh', anAct())
    await people.add(newPerson('unproved@example.org', at), anAct())
    const ann = await aProved(bench, 'ann@example.org')
    const arrive = (subject: string, email: string | null) =>
      identities.recognise(anIdentity({ subject }), email, at, 0)
    expect(await arrive('1', null)).toBeUndefined()
    expect(await arrive('1', 'nobody@example.org')).toBeUndefined()
    expect(await arrive('1', 'unproved@example.org')).toBeUndefined()
    expect(await arrive('1', 'ANN@example.org')).toMatchObject({ id: ann.id })
    expect(await arrive('1', null)).toMatchObject({ id: ann.id })
    expect(await identities.countPeople('https://sso.example.org')).toBe(1)
  })

  test('a vouched address of an unknown issuer links nothing', async () => {
    const { identities } = bench.signin
    await aProved(bench, 'ann@example.org')
    const at = bench.clock.now()
    expect(await identities.recognise(anIdentity(), 'ann@example.org', at, 0)).toBeUndefined()
  })

  test('a disabled person is returned as disabled, and nothing is linked', async () => {
    const { identityProviders, identities, people } = bench.signin
    const { clock } = bench
    await identityProviders.add(anIdentityProvider(clock), 'shh', anAct())
    const ann = await aProved(bench, 'ann@example.org')
    await identities.link(anIdentity(), ann.id, clock.now(), 0)
    await people.setDisabled(ann.id, true, anAct(clock.now()))
    clock.advance(MINUTE)
    for (const subject of ['s-1', 's-2']) {
      const came = await identities.recognise(
        anIdentity({ subject }),
        'ann@example.org',
        clock.now(),
        0,
      )
      expect(came).toMatchObject({ disabledAt: expect.any(Number) })
    }
    expect(await identities.ofPerson(ann.id)).toHaveLength(1)
    expect(await people.find(ann.id)).toMatchObject({ lastSignInAt: ann.lastSignInAt })
  })
}

function revokedContract(bench: SigninBench): void {
  test('a sign-in that began before a revocation recognises nobody, and links nothing', async () => {
    const { identityProviders, identities, artifacts } = bench.signin
    const at = bench.clock.now()
    await identityProviders.add(anIdentityProvider(bench.clock), 'shh', anAct())
    const ann = await aProved(bench, 'ann@example.org')
    await identities.link(anIdentity(), ann.id, at, 0)
    await artifacts.revokePerson(ann.id, anAct(at))
    const second = anIdentity({ subject: 's-2' })
    expect(await identities.recognise(anIdentity(), null, at, 0)).toBe('revoked')
    expect(await identities.recognise(second, 'ann@example.org', at, 0)).toBe('revoked')
    expect(await identities.link(second, ann.id, at, 0)).toBe(false)
    expect(await identities.ofPerson(ann.id)).toHaveLength(1)
    const after = await artifacts.revocations()
    expect(await identities.link(second, ann.id, at, after)).toBe(true)
    expect(await identities.recognise(anIdentity(), null, at, after)).toMatchObject({ id: ann.id })
  })
}

function linksContract(bench: SigninBench): void {
  test('an identity belongs to one person; a second one cannot link it', async () => {
    const { identityProviders, identities } = bench.signin
    const at = bench.clock.now()
    await identityProviders.add(anIdentityProvider(bench.clock), 'shh', anAct())
    const [ann, bob] = [await aProved(bench, 'ann@x.org'), await aProved(bench, 'bob@x.org')]
    const won = await Promise.all(
      [ann, bob].map(({ id }) => identities.link(anIdentity(), id, at, 0)),
    )
    expect(won).toEqual([true, false])
    expect(await identities.link(anIdentity(), ann.id, at, 0)).toBe(true)
    expect(await identities.recognise(anIdentity(), null, at, 0)).toMatchObject({ id: ann.id })
  })

  test('it is unlinked by issuer, and goes with its person', async () => {
    const { identityProviders, identities, people } = bench.signin
    const at = bench.clock.now()
    await identityProviders.add(anIdentityProvider(bench.clock), 'shh', anAct())
    const ann = await aProved(bench, 'ann@x.org')
    await identities.link(anIdentity(), ann.id, at, 0)
    await identities.link(anIdentity({ subject: 's-2' }), ann.id, at, 0)
    expect(await identities.unlink(ann.id, 'https://other.example', anAct())).toBe(0)
    expect(await identities.unlink(ann.id, 'https://sso.example.org', anAct())).toBe(2)
    await identities.link(anIdentity(), ann.id, at, 0)
    await people.remove(ann.id, anAct())
    expect(await identities.countPeople('https://sso.example.org')).toBe(0)
    expect(await identities.link(anIdentity(), ann.id, at, 0)).toBe(false)
  })

  test('the first proof of an address ends what was linked before it', async () => {
    const { identityProviders, identities, people, artifacts } = bench.signin
    const at = bench.clock.now()
    await identityProviders.add(anIdentityProvider(bench.clock), 'shh', anAct())
    const squatter = newPerson('owner@example.org', at)
    await people.add(squatter, anAct())
    await identities.link(anIdentity(), squatter.id, at, 0)
    await putArtifact(bench.signin, {
      kind: 'Session',
      digest: 'd',
      payload: '{}',
      grantId: null,
      uid: 'u',
      personId: squatter.id,
      clientId: null,
      consumedAt: null,
      expiresAt: later(at, MINUTE),
    })
    await people.confirmEmail('owner@example.org', null, at, 0)
    expect(await identities.ofPerson(squatter.id)).toEqual([])
    expect(await artifacts.countSessions(squatter.id, at)).toBe(0)
    await identities.link(anIdentity(), squatter.id, at, 0)
    await people.confirmEmail('owner@example.org', null, at, 0)
    expect(await identities.ofPerson(squatter.id)).toHaveLength(1)
  })
}

function detoursContract(bench: SigninBench): void {
  const detour = { interaction: 'i1', provider: 'sso', state: 'state-1' }
  const begin = (more: Partial<typeof detour> = {}) =>
    bench.signin.detours.begin({
      ...detour,
      ...more,
      expiresAt: later(bench.clock.now(), MINUTE),
    })

  test('a state is consumed once: not after it expires, not for another interaction, not after the next detour began', async () => {
    const { detours, identityProviders } = bench.signin
    const at = bench.clock.now()
    await identityProviders.add(anIdentityProvider(bench.clock), 'shh', anAct())
    await begin()
    expect(await detours.end({ ...detour, interaction: 'i2' }, at)).toBe(false)
    expect(await detours.end({ ...detour, provider: 'other' }, at)).toBe(false)
    expect(await detours.end({ ...detour, state: 'state-2' }, at)).toBe(false)
    expect(await detours.end(detour, later(at, MINUTE))).toBe(false)
    const tries = await Promise.all(Array.from({ length: 20 }, () => detours.end(detour, at)))
    expect(tries.filter((won) => won)).toHaveLength(1)
    await begin()
    await begin({ state: 'state-2' })
    expect(await detours.end(detour, at)).toBe(false)
    expect(await detours.end({ ...detour, state: 'state-2' }, at)).toBe(true)
  })

  test('who came back waits until the time is over, another detour begins, or it is dropped', async () => {
    const { detours, identityProviders } = bench.signin
    const { clock } = bench
    const at = clock.now()
    await identityProviders.add(anIdentityProvider(clock), 'shh', anAct())
    const arrival = { provider: 'sso', subject: 's', claimedName: 'ann', claimedEmail: null }
    expect(await detours.keepIdentity('i1', arrival)).toBe(false)
    await begin()
    expect(await detours.keepIdentity('i1', arrival)).toBe(false)
    await detours.end(detour, at)
    expect(await detours.pendingIdentity('i1', at)).toBeUndefined()
    expect(await detours.keepIdentity('i1', { ...arrival, provider: 'other' })).toBe(false)
    expect(await detours.keepIdentity('i1', arrival)).toBe(true)
    expect(await detours.pendingIdentity('i1', at)).toEqual(arrival)
    expect(await detours.pendingIdentity('i2', at)).toBeUndefined()
    expect(await detours.pendingIdentity('i1', later(at, MINUTE))).toBeUndefined()
    await begin()
    expect(await detours.pendingIdentity('i1', at)).toBeUndefined()
    await detours.end(detour, at)
    await detours.keepIdentity('i1', arrival)
    await detours.drop('i1')
    expect(await detours.pendingIdentity('i1', at)).toBeUndefined()
    await begin()
    expect(await detours.sweep(later(at, MINUTE + 1), 9)).toBe(1)
    expect(await detours.end(detour, at)).toBe(false)
  })

  test('none begins to a provider that is gone', async () => {
    await begin()
    expect(await bench.signin.detours.end(detour, bench.clock.now())).toBe(false)
  })
}
