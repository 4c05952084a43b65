/** What the port of memberships promises: one role each, written with its person and its act, and gone with the person. */
import { expect, test } from 'vitest'
import type { AccountId } from '#domain/id.ts'
import type { Membership } from '#signin/register/membership.ts'
import { newPerson } from '#signin/register/person.ts'
import { anAccount, anAct } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function membershipsContract(bench: Bench): void {
  const anOwner = async (email: string, accountId: AccountId) => {
    const person = newPerson(email, bench.clock.now())
    const since = bench.clock.now()
    const membership: Membership = { accountId, personId: person.id, role: 'owner', since }
    return { person, membership }
  }

  test('a member is added with the person, keeps one role, and leaves an act of each change', async () => {
    const { acts, signin } = bench.store
    const { memberships, people } = signin
    const { id } = anAccount()
    const { person, membership } = await anOwner('ann@example.org', id)
    expect(await memberships.put(membership, person, anAct())).toBeNull()
    expect(await people.find(person.id)).toEqual(person)
    expect(await memberships.ofAccount(id)).toEqual([membership])
    expect(await memberships.ofPerson(person.id)).toEqual([membership])
    expect(await memberships.find(id, person.id)).toEqual(membership)
    const { length } = await acts.list({ limit: 9 })
    expect(await memberships.put(membership, null, anAct())).toBe('owner')
    expect(await acts.list({ limit: 9 })).toHaveLength(length)

    bench.clock.advance(1_000)
    const viewer = { ...membership, role: 'viewer', since: bench.clock.now() } as const
    expect(await memberships.put(viewer, null, anAct(bench.clock.now()))).toBe('owner')
    expect((await acts.list({ limit: 9 })).map(({ changed }) => changed)).toContainEqual(
      expect.objectContaining({ role: { from: 'owner', to: 'viewer' } }),
    )
    expect(await memberships.find(id, person.id)).toEqual({ ...membership, role: 'viewer' })

    expect(await memberships.remove(id, person.id, anAct(bench.clock.now()))).toBe(true)
    expect(await memberships.remove(id, person.id, anAct(bench.clock.now()))).toBe(false)
    expect(await memberships.ofAccount(id)).toEqual([])
    expect(await people.find(person.id)).toEqual(person)
  })

  test('a newcomer whose address is taken, and a person who is gone, become nobody’s member', async () => {
    const { signin } = bench.store
    const { memberships, people } = signin
    const { id } = anAccount()
    const first = await anOwner('ann@example.org', id)
    await memberships.put(first.membership, first.person, anAct())
    const second = await anOwner('ANN@example.org', id)
    await expect(memberships.put(second.membership, second.person, anAct())).rejects.toMatchObject({
      code: 'already_exists',
    })
    await people.remove(first.person.id, anAct())
    expect(await memberships.ofAccount(id)).toEqual([])
    await expect(memberships.put(first.membership, null, anAct())).rejects.toMatchObject({
      code: 'person_not_found',
    })
  })

  test('a change that expects a member by an owner is made of none, and by nobody who is none any more', async () => {
    const { memberships } = bench.store.signin
    const { id } = anAccount()
    const ann = await anOwner('ann@example.org', id)
    const bob = await anOwner('bob@example.org', id)
    for (const { person, membership } of [ann, bob])
      await memberships.put(membership, person, anAct())
    // Each takes the other's role at once.
    const done = await Promise.allSettled([
      memberships.put({ ...bob.membership, role: 'viewer' }, null, anAct(), { by: ann.person.id }),
      memberships.remove(id, ann.person.id, anAct(), { by: bob.person.id }),
    ])
    expect(done.map((one) => (one.status === 'rejected' ? one.reason.code : one.value))).toEqual([
      'owner',
      'role_not_allowed',
    ])
    // A role that is changed as its member goes brings them not back; the operator may do both.
    const by = ann.person.id
    expect(await memberships.remove(id, bob.person.id, anAct(), { by })).toBe(true)
    for (const expected of [{ by }, { by: null }]) {
      const gone = { code: 'person_not_found' }
      const member = { ...bob.membership, role: 'member' } as const
      await expect(memberships.put(member, null, anAct(), expected)).rejects.toMatchObject(gone)
      await expect(memberships.remove(id, bob.person.id, anAct(), expected)).rejects.toMatchObject(
        gone,
      )
    }
    expect(await memberships.ofAccount(id)).toEqual([ann.membership])
    expect(await memberships.remove(id, ann.person.id, anAct(), { by: null })).toBe(true)
  })

  test('people of an account are found by it', async () => {
    const { signin } = bench.store
    const { id } = anAccount()
    const { person, membership } = await anOwner('ann@example.org', id)
    await signin.people.add(newPerson('bob@example.org', bench.clock.now()), anAct())
    await signin.memberships.put(membership, person, anAct())
    expect(await signin.people.list({ accountId: id, limit: 9 })).toEqual([person])
  })

  test('a chosen language is kept, and one that was chosen already leaves no act', async () => {
    const { acts, signin } = bench.store
    const person = newPerson('ann@example.org', bench.clock.now())
    await signin.people.add(person, anAct())
    const spoken = await signin.people.setLanguage(person.id, 'ru', anAct())
    expect(spoken).toEqual({ ...person, language: 'ru' })
    expect(await signin.people.find(person.id)).toEqual(spoken)
    const { length } = await acts.list({ limit: 9 })
    expect(await signin.people.setLanguage(person.id, 'ru', anAct())).toEqual(spoken)
    expect(await acts.list({ limit: 9 })).toHaveLength(length)
    expect(await signin.people.setLanguage('usr_nobody', 'ru', anAct())).toBeUndefined()
  })
}
