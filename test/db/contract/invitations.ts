/** What the port of invitations promises: one pending of an account to an address, accepted by its person alone, and so many a day. */
import { expect, test } from 'vitest'
import { DAY_MS, later } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import {
  INVITATION_MS,
  type Invitation,
  MAX_INVITATIONS,
  newInvitationId,
} from '#signin/register/invitation.ts'
import { newPerson } from '#signin/register/person.ts'
import { anAccount, anAct } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const ACCOUNT = anAccount().id

export function invitationsContract(bench: Bench): void {
  const anInvitation = (email: string, stated: Partial<Invitation> = {}): Invitation => ({
    id: newInvitationId(),
    accountId: ACCOUNT,
    email,
    role: 'member',
    by: 'owner@example.org',
    sentAt: bench.clock.now(),
    expiresAt: later(bench.clock.now(), INVITATION_MS),
    ...stated,
  })
  const now = () => anAct(bench.clock.now())
  const send = (invitation: Invitation) =>
    bench.store.signin.invitations.send(invitation, null, now())
  const pending = () => bench.store.signin.invitations.ofAccount(ACCOUNT, bench.clock.now())
  const aPerson = async (email: string, isEmailVerified = true) => {
    const person = { ...newPerson(email, bench.clock.now()), isEmailVerified }
    await bench.store.signin.people.add(person, now())
    return person
  }

  test('it waits for whoever has the address, and makes a member of them when they accept', async () => {
    const { signin, acts } = bench.store
    const sent = anInvitation('Ann@example.org')
    expect(await send(sent)).toBeNull()
    expect(await pending()).toEqual([sent])
    expect(await signin.invitations.toAddress('ann@EXAMPLE.org', bench.clock.now())).toEqual([sent])
    const ann = await aPerson('ann@example.org')
    const bob = await aPerson('bob@example.org')
    expect(await signin.memberships.ofAccount(ACCOUNT)).toEqual([])
    expect(await signin.invitations.accept(sent.id, bob.id, now())).toBe(false)
    bench.clock.advance(1_000)
    const act = now()
    expect(await signin.invitations.accept(sent.id, ann.id, act)).toBe(true)
    const since = bench.clock.now()
    expect(await signin.memberships.ofAccount(ACCOUNT)).toEqual([
      { accountId: ACCOUNT, personId: ann.id, role: 'member', since },
    ])
    const written = (await acts.list({ limit: 9 })).find(({ id }) => id === act.id)
    expect(written?.changed).toMatchObject({ role: { from: null, to: 'member' } })
    expect(await pending()).toEqual([])
    expect(await signin.invitations.accept(sent.id, ann.id, now())).toBe(false)
  })

  test('an address that is not confirmed, and a person who is disabled, accept nothing', async () => {
    const { signin } = bench.store
    const [first, second] = [anInvitation('ann@example.org'), anInvitation('bob@example.org')]
    await send(first)
    await send(second)
    const ann = await aPerson('ann@example.org', false)
    const bob = await aPerson('bob@example.org')
    await signin.people.setDisabled(bob.id, true, now())
    expect(await signin.invitations.accept(first.id, ann.id, now())).toBe(false)
    expect(await signin.invitations.accept(second.id, bob.id, now())).toBe(false)
    expect(await signin.memberships.ofAccount(ACCOUNT)).toEqual([])
  })

  test('a later one replaces it, one that has ended is none, and so is one after its time', async () => {
    const { invitations } = bench.store.signin
    const first = anInvitation('ann@example.org')
    await send(first)
    bench.clock.advance(1_000)
    const second = anInvitation('ANN@example.org', { role: 'viewer' })
    await send(second)
    expect(await pending()).toEqual([second])
    expect(await invitations.end(first.id, now())).toBe(false)
    expect(await invitations.end(second.id, now())).toBe(true)
    expect(await invitations.end(second.id, now())).toBe(false)
    expect(await pending()).toEqual([])
    const third = anInvitation('ann@example.org')
    await send(third)
    const ann = await aPerson('ann@example.org')
    bench.clock.advance(INVITATION_MS)
    expect(await pending()).toEqual([])
    expect(await invitations.accept(third.id, ann.id, now())).toBe(false)
    expect(await send(anInvitation('ann@example.org'))).toBeNull()
  })

  test('so many are sent within a day, after a restart too, and withdrawing one makes no room', async () => {
    const start = bench.clock.now()
    for (let n = 0; n < MAX_INVITATIONS.address; n++) {
      const one = anInvitation('ann@example.org')
      expect(await send(one)).toBeNull()
      await bench.store.signin.invitations.end(one.id, now())
      bench.clock.advance(1_000)
    }
    await bench.restart()
    expect(await send(anInvitation('Ann@example.org'))).toEqual({
      of: 'address',
      nextAt: later(start, DAY_MS),
    })
    for (let n = MAX_INVITATIONS.address; n < MAX_INVITATIONS.account; n++) {
      expect(await send(anInvitation(`n${n}@example.org`))).toBeNull()
    }
    const refused = { of: 'account', nextAt: later(start, DAY_MS) }
    expect(await send(anInvitation('late@example.org'))).toEqual(refused)
    expect(await pending()).toHaveLength(MAX_INVITATIONS.account - MAX_INVITATIONS.address)
    bench.clock.advance(DAY_MS)
    expect(await send(anInvitation('late@example.org'))).toBeNull()
  })

  test('whoever is added meanwhile is not asked any more, and mail that waits is not sent', async () => {
    const { signin } = bench.store
    const at = bench.clock.now()
    const letter = { subject: 's', text: 't', html: 'h' }
    const mailed = async (email: string) => {
      const one = anInvitation(email)
      const mail = { id: newEventId(at), mail: { to: email, ...letter } }
      await signin.invitations.send(one, mail, now())
      return one
    }
    const withdrawn = await mailed('bob@example.org')
    await mailed('ann@example.org')
    await signin.invitations.end(withdrawn.id, now())
    const { mails } = await signin.codeMails.claim(at, later(at, 1), 9)
    expect(mails.map(({ mail }) => mail.to)).toEqual(['ann@example.org'])
    const ann = await aPerson('ann@example.org')
    const membership = { accountId: ACCOUNT, personId: ann.id, role: 'owner', since: at } as const
    await signin.memberships.put(membership, null, now())
    expect(await pending()).toEqual([])
  })
}
