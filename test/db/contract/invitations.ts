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
    by: null,
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
    // Claimed above, it would be due again.
    expect((await signin.codeMails.claim(later(at, 1), later(at, 2), 9)).mails).toEqual([])
  })

  test('it lasts no longer than its sender owns the account, and than that is open', async () => {
    const { accounts, signin } = bench.store
    const owner = await aPerson('owner@example.org')
    const ann = await aPerson('ann@example.org')
    const membership = (role: 'owner' | 'member') =>
      ({ accountId: ACCOUNT, personId: owner.id, role, since: bench.clock.now() }) as const
    const sent = anInvitation('ann@example.org', { by: owner.email, role: 'owner' })
    await signin.memberships.put(membership('owner'), null, now())
    await send(sent)
    const lapses = async (change: () => Promise<unknown>, back: () => Promise<unknown>) => {
      expect(await pending()).toEqual([sent])
      await change()
      expect(await pending()).toEqual([])
      expect(await signin.invitations.toAddress(ann.email, bench.clock.now())).toEqual([])
      expect(await signin.invitations.accept(sent.id, ann.id, now())).toBe(false)
      await back()
    }
    const restore = () => signin.memberships.put(membership('owner'), null, now())
    await lapses(() => signin.memberships.put(membership('member'), null, now()), restore)
    await lapses(() => signin.memberships.remove(ACCOUNT, owner.id, now()), restore)
    const disabled = (is: boolean) => signin.people.setDisabled(owner.id, is, now())
    await lapses(
      () => disabled(true),
      () => disabled(false),
    )
    const other = anAccount({ id: 'acct_closing', name: 'closing' })
    await accounts.create(other, now())
    const ofOther = anInvitation('ann@example.org', { accountId: other.id })
    await send(ofOther)
    await accounts.close(other.id, now())
    expect(await signin.invitations.ofAccount(other.id, bench.clock.now())).toEqual([])
    expect(await signin.invitations.accept(ofOther.id, ann.id, now())).toBe(false)
  })

  test('a member who is invited all the same keeps their role, and its end is theirs', async () => {
    const { signin } = bench.store
    const ann = await aPerson('before@example.org')
    const owner = { accountId: ACCOUNT, personId: ann.id, role: 'owner', since: bench.clock.now() }
    await signin.memberships.put(owner as never, null, now())
    const rename = async (email: string) => {
      const sent = anInvitation(email, { role: 'viewer' })
      await send(sent)
      await signin.people.amend(ann.id, { email }, now())
      await signin.people.confirmEmail(email, null, bench.clock.now(), bench.clock.now())
      return sent
    }
    const first = await rename('ann@example.org')
    expect(await signin.invitations.accept(first.id, ann.id, now())).toBe(true)
    expect(await pending()).toEqual([])
    expect((await signin.memberships.find(ACCOUNT, ann.id))?.role).toBe('owner')
    await rename('again@example.org')
    await signin.memberships.remove(ACCOUNT, ann.id, now())
    expect(await pending()).toEqual([])
  })

  test('one that is over is forgotten a day after it was sent, and no other', async () => {
    const { invitations } = bench.store.signin
    const sweep = (limit = 9) => invitations.sweep(bench.clock.now(), limit)
    const ended = [anInvitation('ann@example.org'), anInvitation('bob@example.org')]
    for (const one of ended) {
      await send(one)
      await invitations.end(one.id, now())
    }
    const open = anInvitation('cy@example.org')
    await send(open)
    expect(await sweep()).toBe(0)
    bench.clock.advance(DAY_MS)
    expect(await sweep(1)).toBe(1)
    expect(await sweep()).toBe(1)
    expect(await pending()).toEqual([open])
    bench.clock.advance(INVITATION_MS)
    expect(await sweep()).toBe(1)
  })
}
