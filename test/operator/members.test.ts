// The people of an account: by the operator's hand, and what each role is bounded to.
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, later } from '#domain/clock.ts'
import type { Actor } from '#operator/actor.ts'
import { performAs } from '#operator/as-person.ts'
import { mayDo } from '#operator/roles.ts'
import { VERBS, type VerbName } from '#operator/verbs.ts'
import { ROLES, type Role } from '#signin/register/membership.ts'
import { newPerson, type PersonId } from '#signin/register/person.ts'
import { aClaim, anAct, anActivity } from '#test/support/nouns.ts'
import { act, openFurnished, serving, type TestOperatorDeps } from './deps.ts'

const SERVING = serving({
  authUrl: 'https://id.example.org',
  cabinetUrl: 'https://id.example.org/cabinet',
})

/** A person of the account `default`, who acts in this role. */
async function anActor(deps: TestOperatorDeps, role: Role, account = 'default') {
  const email = `${role}@${account}.example.org`
  const { id } = await act(deps, 'accounts.members.add', { account, email, role })
  const { id: accountId } = await act(deps, 'accounts.show', { name: account })
  const personId = id as PersonId
  const actor: Actor = { personId, email, accountId: accountId as Actor['accountId'], role }
  return { actor, act: performAs(deps, actor) }
}

describe('by the operator', () => {
  test('a new address is added and invited, a known one changes its role, and either is removed', async () => {
    const deps = { ...(await openFurnished()), delivery: { smtp: true, loopbackWebhooks: false } }
    const running = { ...deps, live: SERVING }
    const added = await act(running, 'accounts.members.add', {
      email: 'Ann@example.org',
      role: 'owner',
    })
    expect(added).toMatchObject({
      email: 'Ann@example.org',
      account: 'default',
      role: 'owner',
      previous_role: null,
      mailed: true,
      cabinet_url: 'https://id.example.org/cabinet',
      last_sign_in_at: null,
    })
    const { mails } = await deps.store.signin.codeMails.claim(deps.clock.now(), deps.clock.now(), 9)
    expect(mails.map(({ mail }) => mail)).toMatchObject([
      {
        to: 'Ann@example.org',
        subject: 'You have access to the model gateway',
        text: expect.stringContaining('https://id.example.org/cabinet'),
      },
    ])
    expect(await act(deps, 'users.show', { person: added.id })).toMatchObject({
      accounts: [{ account: 'default', role: 'owner' }],
    })
    const again = await act(deps, 'accounts.members.add', {
      email: 'ann@EXAMPLE.org',
      role: 'viewer',
    })
    expect(again).toMatchObject({ id: added.id, role: 'viewer', previous_role: 'owner' })
    // With neither a server nor a setting nobody knows where to invite to.
    expect(again).toMatchObject({ mailed: false, cabinet_url: null })
    const told = { ...deps, statedCabinetUrl: async () => 'https://id.example.org/cabinet' }
    const stated = { email: 'ann@example.org', role: 'viewer' } as const
    expect(await act(told, 'accounts.members.add', stated)).toMatchObject({
      mailed: true,
      cabinet_url: 'https://id.example.org/cabinet',
    })
    const set = { person: 'ann@example.org', role: 'member' } as const
    expect(await act(deps, 'accounts.members.set-role', set)).toMatchObject({
      previous_role: 'viewer',
    })
    expect(await act(deps, 'accounts.members.list', {})).toMatchObject([
      { email: 'Ann@example.org', role: 'member' },
    ])
    await act(deps, 'accounts.members.remove', { person: added.id })
    expect(await act(deps, 'accounts.members.list', {})).toEqual([])
    await expect(act(deps, 'accounts.members.remove', { person: added.id })).rejects.toMatchObject({
      code: 'person_not_found',
    })
    expect(await act(deps, 'users.show', { person: added.id })).toMatchObject({ accounts: [] })
  })

  test('who has signed in is not invited again', async () => {
    const deps = { ...(await openFurnished()), delivery: { smtp: true, loopbackWebhooks: false } }
    await act(deps, 'users.add', { email: 'ann@example.org' })
    await deps.store.signin.people.confirmEmail('ann@example.org', null, deps.clock.now(), 0)
    const added = await act({ ...deps, live: SERVING }, 'accounts.members.add', {
      email: 'ann@example.org',
      role: 'viewer',
    })
    expect(added.mailed).toBe(false)
  })
})

describe('a person', () => {
  test('what they do is in the log of acts under their name', async () => {
    const deps = await openFurnished()
    const { actor, act: asOwner } = await anActor(deps, 'owner')
    const { made_by } = await asOwner('keys.create', { name: 'web', account: actor.accountId })
    expect(made_by).toBe(actor.email)
    const [newest] = await act(deps, 'acts.list', { limit: 1 })
    expect(newest).toMatchObject({
      who: `${actor.email} (${actor.personId})`,
      verb: 'keys.create',
    })
  })

  test('another account is none, whichever way it is named', async () => {
    const deps = await openFurnished()
    await act(deps, 'accounts.create', { name: 'acme' })
    const theirs = await act(deps, 'keys.create', { name: 'theirs', account: 'acme' })
    const { act: asOwner } = await anActor(deps, 'owner')
    const { personId } = (await anActor(deps, 'owner', 'acme')).actor
    for (const account of ['acme', theirs.account]) {
      await expect(asOwner('keys.list', { account })).rejects.toMatchObject({
        code: 'account_not_found',
        message: 'no account is called "acme"',
      })
    }
    for (const key of [theirs.id, 'theirs', theirs.label]) {
      await expect(asOwner('keys.show', { key })).rejects.toMatchObject({
        code: 'key_not_found',
        message: `no key is called "${key}"`,
      })
      await expect(asOwner('limits.set', { keys: [key], rpm_limit: 1 })).rejects.toMatchObject({
        code: 'key_not_found',
      })
    }
    await expect(asOwner('accounts.members.remove', { person: personId })).rejects.toMatchObject({
      code: 'person_not_found',
    })
    expect((await act(deps, 'keys.show', { key: theirs.id })).rpm_limit).toBeNull()
  })

  test('to a member there are the keys that they made alone, and the requests of those', async () => {
    const deps = await openFurnished()
    const { actor, act: asMember } = await anActor(deps, 'member')
    const { id } = await asMember('keys.create', { name: 'mine', daily_spend_limit_usd: '5' })
    const { default: other } = { default: await act(deps, 'keys.show', { key: 'default' }) }
    expect((await asMember('keys.list', {})).map(({ name }) => name)).toEqual(['mine'])
    await expect(asMember('keys.show', { key: other.id })).rejects.toMatchObject({
      code: 'key_not_found',
    })
    const entries = []
    for (const key of [id, other.id]) {
      const found = await deps.store.keys.find(key as never)
      if (found === undefined) throw new Error('no key')
      const entry = anActivity(aClaim(found, deps.clock.now()))
      deps.store.activity.note(entry)
      entries.push(entry)
      deps.clock.advance(1_000)
    }
    const [mine, theirs] = entries.map(({ generationId }) => generationId)
    const listed = await asMember('activity.list', {})
    expect(listed.map((entry) => entry.id)).toEqual([mine])
    expect(await asMember('activity.count', {})).toEqual({ count: 1 })
    expect((await asMember('usage.report', {})).rows.map(({ key_name }) => key_name)).not.toContain(
      'default',
    )
    await expect(asMember('why', { id: theirs ?? '' })).rejects.toMatchObject({
      code: 'generation_not_found',
      message: `no request is kept under "${theirs}"`,
    })
    expect((await asMember('activity.show', { id: mine ?? '' })).key_id).toBe(id)
    expect(actor.role).toBe('member')
  })

  test('a member’s key has a daily ceiling that they cannot raise beyond what the account allows', async () => {
    const deps = await openFurnished()
    const { act: asMember } = await anActor(deps, 'member')
    const refusal = {
      code: 'invalid_request',
      details: { metadata: { limit: 'member_daily_usd', limit_value: '5.00' } },
    }
    for (const daily of [undefined, null, '5.01']) {
      const input = { name: 'mine', ...(daily !== undefined && { daily_spend_limit_usd: daily }) }
      await expect(asMember('keys.create', input)).rejects.toMatchObject(refusal)
    }
    await asMember('keys.create', { name: 'mine', daily_spend_limit_usd: '5' })
    for (const daily of [null, '6']) {
      await expect(
        asMember('limits.set', { keys: ['mine'], daily_spend_limit_usd: daily }),
      ).rejects.toMatchObject(refusal)
    }
    await act(deps, 'accounts.edit', { account: 'default', member_daily_usd: '6' })
    await asMember('limits.set', { keys: ['mine'], daily_spend_limit_usd: '6', rpm_limit: 3 })
    await asMember('limits.set', { keys: ['mine'], rpm_limit: 4 })
    const { act: asOwner } = await anActor(deps, 'owner')
    await asOwner('limits.set', { keys: ['mine'], daily_spend_limit_usd: null })
    expect((await act(deps, 'keys.show', { key: 'mine' })).daily_spend_limit_usd).toBeNull()
  })

  test('who was an owner can do nothing more as a member with a key that has no ceiling, and may end it', async () => {
    const deps = await openFurnished()
    const { actor, act: asOwner } = await anActor(deps, 'owner')
    const { id: key } = await asOwner('keys.create', { name: 'unbounded' })
    const asMember = performAs(deps, { ...actor, role: 'member' })
    const refused = { code: 'invalid_request', details: { param: 'daily_spend_limit_usd' } }
    await expect(asMember('keys.rotate', { key })).rejects.toMatchObject(refused)
    await expect(asMember('limits.set', { keys: [key], rpm_limit: 9 })).rejects.toMatchObject(
      refused,
    )
    await asMember('keys.edit', { key, disabled: true })
    await expect(asMember('keys.edit', { key, disabled: false })).rejects.toMatchObject(refused)
    await asMember('limits.set', { keys: [key], daily_spend_limit_usd: '5' })
    await asMember('keys.edit', { key, disabled: false })
    await asMember('keys.rotate', { key })
    await asMember('keys.revoke', { key })
  })

  test('of two owners who take each other’s role at once, one stays', async () => {
    const deps = await openFurnished()
    const ann = await anActor(deps, 'owner')
    await act(deps, 'accounts.create', { name: 'other' })
    const { actor: bob } = await anActor(deps, 'owner', 'other')
    const role = 'owner'
    await act(deps, 'accounts.members.add', { email: bob.email, role })
    const asBob = performAs(deps, { ...bob, accountId: ann.actor.accountId })
    const done = await Promise.allSettled([
      ann.act('accounts.members.set-role', { person: bob.email, role: 'viewer' }),
      asBob('accounts.members.remove', { person: ann.actor.email }),
    ])
    // Who of them comes first is not said.
    expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const left = (await act(deps, 'accounts.members.list', {})).map((one) => [one.email, one.role])
    const isFirst = done[0]?.status === 'fulfilled'
    expect(new Map(left as [string, string][])).toEqual(
      new Map(
        isFirst
          ? [
              [ann.actor.email, 'owner'],
              [bob.email, 'viewer'],
            ]
          : [[bob.email, 'owner']],
      ),
    )
  })

  test('sees the requests of a key that has moved on, by its name too, as what their account has paid', async () => {
    const deps = await openFurnished()
    const { act: asOwner } = await anActor(deps, 'owner')
    await act(deps, 'accounts.create', { name: 'next' })
    const { id } = await act(deps, 'keys.create', { name: 'moving' })
    const found = await deps.store.keys.find(id as never)
    if (found === undefined) throw new Error('no key')
    const entry = anActivity(aClaim(found, deps.clock.now()))
    deps.store.activity.note(entry)
    await act(deps, 'accounts.move-key', { key: id, to: 'next' })
    for (const key of [id, 'moving'])
      expect((await asOwner('activity.list', { key })).map((one) => one.id)).toEqual([
        entry.generationId,
      ])
    await act(deps, 'keys.create', { name: 'never here', account: 'next' })
    await expect(asOwner('activity.list', { key: 'never here' })).rejects.toMatchObject({
      code: 'key_not_found',
    })
  })

  test('nobody changes their own role', async () => {
    const deps = await openFurnished()
    const { actor, act: asOwner } = await anActor(deps, 'owner')
    const person = actor.personId
    const own = { code: 'invalid_request', message: expect.stringContaining('their own role') }
    await expect(
      asOwner('accounts.members.set-role', { person, role: 'viewer' }),
    ).rejects.toMatchObject(own)
    await expect(asOwner('accounts.members.remove', { person })).rejects.toMatchObject(own)
    await expect(
      asOwner('accounts.members.invite', { email: actor.email, role: 'viewer' }),
    ).rejects.toMatchObject({ code: 'already_exists' })
  })

  test('a verb that names a person is of themselves alone', async () => {
    const deps = await openFurnished()
    const { actor, act: asViewer } = await anActor(deps, 'viewer')
    const { act: asOwner } = await anActor(deps, 'owner')
    expect(await asViewer('users.show', { person: 'owner@default.example.org' })).toMatchObject({
      id: actor.personId,
    })
    await asOwner('users.language', { person: actor.personId, language: 'ru' })
    expect(await act(deps, 'users.show', { person: actor.personId })).toMatchObject({
      language: null,
    })
  })

  test.each(ROLES)(
    'every verb that the table refuses to a %s is refused before it is read',
    async (role) => {
      const deps = await openFurnished()
      const { act: asPerson } = await anActor(deps, role)
      const refused = (Object.keys(VERBS) as VerbName[]).filter((name) => !mayDo(role, name))
      expect(refused).toContain('balance.top-up')
      for (const name of refused) {
        await expect(asPerson(name, { nonsense: 1 } as never)).rejects.toMatchObject({
          code: 'role_not_allowed',
        })
      }
    },
  )
})

describe('an invitation', () => {
  const begin = async () => {
    const opened = await openFurnished()
    const deps = {
      ...opened,
      delivery: { smtp: true, loopbackWebhooks: false },
      live: { ...SERVING, signup: 'open' as const },
    }
    const { actor, act: asOwner } = await anActor(deps, 'owner')
    const invite = (email: string, role: Role = 'viewer') =>
      asOwner('accounts.members.invite', { email, role })
    /** Signs up, and acts as whom the invitation asks for. */
    const invited = async (email: string) => {
      const person = { ...newPerson(email, deps.clock.now()), isEmailVerified: true }
      await deps.store.signin.people.add(person, anAct(deps.clock.now()))
      const own = {
        personId: person.id,
        email,
        accountId: actor.accountId,
        role: 'viewer',
      } as const
      return { id: person.id, act: performAs(deps, own) }
    }
    const roles = async () =>
      (await act(deps, 'accounts.members.list', {})).map(({ email, role, pending }) => [
        email,
        role,
        pending === null,
      ])
    return { deps, actor, asOwner, invite, invited, roles }
  }

  test('is pending, mailed with where it is accepted, and nobody’s membership before', async () => {
    const { deps, actor, invite, roles } = await begin()
    const { mails: sent } = await deps.store.signin.codeMails.claim(
      deps.clock.now(),
      later(deps.clock.now(), DAY_MS),
      9,
    )
    expect(sent).toHaveLength(1)
    deps.clock.advance(1_000)
    expect(await invite('Ann@example.org')).toMatchObject({
      id: expect.stringMatching(/^inv_/),
      email: 'Ann@example.org',
      role: 'viewer',
      since: null,
      pending: { by: actor.email },
      mailed: true,
    })
    expect(await roles()).toEqual([
      [actor.email, 'owner', true],
      ['Ann@example.org', 'viewer', false],
    ])
    const at = deps.clock.now()
    const { mails } = await deps.store.signin.codeMails.claim(at, at, 9)
    expect(mails.map(({ mail }) => mail)).toMatchObject([
      {
        to: 'Ann@example.org',
        subject: 'You are invited to the model gateway',
        text: expect.stringMatching(
          /^owner@default.example.org invites you to the account "default"[\s\S]*cabinet\/invitations/,
        ),
      },
    ])
    expect(await act(deps, 'users.list', { matching: 'ann@' })).toEqual([])
  })

  test('is accepted by whom it asks alone, once; declined or withdrawn, by nobody', async () => {
    const { deps, asOwner, invite, invited, roles } = await begin()
    const ann = await invited('ann@example.org')
    const bob = await invited('bob@example.org')
    await invite('ann@example.org', 'member')
    const own = (person: string) => ({ person })
    const none = { code: 'person_not_found' }
    // Whom a person names is always themselves.
    await expect(bob.act('accounts.members.accept', own(ann.id))).rejects.toMatchObject(none)
    expect(await ann.act('accounts.members.accept', own(ann.id))).toMatchObject({
      id: ann.id,
      role: 'member',
      pending: null,
    })
    await expect(ann.act('accounts.members.accept', own(ann.id))).rejects.toMatchObject(none)
    expect(await roles()).toContainEqual(['ann@example.org', 'member', true])

    await invite('bob@example.org')
    expect(await bob.act('accounts.members.decline', own(bob.id))).toMatchObject({ declined: true })
    await expect(bob.act('accounts.members.accept', own(bob.id))).rejects.toMatchObject(none)
    await invite('bob@example.org')
    const withdrawn = await asOwner('accounts.members.remove', { person: 'BOB@example.org' })
    expect(withdrawn).toMatchObject({ email: 'bob@example.org', removed: true })
    await expect(bob.act('accounts.members.accept', own(bob.id))).rejects.toMatchObject(none)
    expect(await roles()).toHaveLength(2)
    const [newest] = await act(deps, 'acts.list', { limit: 1 })
    expect(newest).toMatchObject({ verb: 'accounts.members.remove', target: withdrawn.id })
  })

  test('of a member is none to accept over their role, and goes with them', async () => {
    const { deps, invite, roles } = await begin()
    const { id } = await act(deps, 'accounts.members.add', {
      email: 'old@example.org',
      role: 'member',
    })
    await invite('ann@example.org')
    await act(deps, 'users.edit', { person: id, email: 'ann@example.org' })
    const { people } = deps.store.signin
    await people.confirmEmail('ann@example.org', null, deps.clock.now(), deps.clock.now())
    expect(await act(deps, 'accounts.members.accept', { person: id })).toMatchObject({
      role: 'member',
    })
    await invite('new@example.org')
    await act(deps, 'users.edit', { person: id, email: 'new@example.org' })
    const removed = await act(deps, 'accounts.members.remove', { person: 'new@example.org' })
    expect(removed).toMatchObject({ id, pending: null, removed: true })
    expect(await roles()).toHaveLength(1)
  })

  test('of an account that is closed, or of somebody who owns it no more, cannot be accepted', async () => {
    const { deps, actor, invite, invited } = await begin()
    const ann = await invited('ann@example.org')
    const own = { person: ann.id }
    await invite('ann@example.org', 'owner')
    await act(deps, 'accounts.members.remove', { person: actor.personId })
    const none = { code: 'person_not_found' }
    await expect(ann.act('accounts.members.accept', own)).rejects.toMatchObject(none)
    await act(deps, 'accounts.create', { name: 'acme' })
    const asked = { account: 'acme', email: 'ann@example.org', role: 'viewer' } as const
    await act(deps, 'accounts.members.invite', asked)
    await act(deps, 'accounts.close', { account: 'acme' })
    const late = { account: 'acme', person: ann.id }
    await expect(act(deps, 'accounts.members.accept', late)).rejects.toMatchObject(none)
    const added = { account: 'acme', email: 'bob@example.org' }
    await expect(act(deps, 'users.add', added)).rejects.toMatchObject({ code: 'account_closed' })
    expect(await act(deps, 'users.list', { matching: 'bob@' })).toEqual([])
  })

  test('is sent so often, and says which limit refuses it, and until when', async () => {
    const { deps, invite } = await begin()
    for (let n = 0; n < 3; n++) await invite('ann@example.org')
    deps.clock.advance(HOUR_MS)
    await expect(invite('ann@example.org')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      details: {
        metadata: { limit: 'invitations_of_address', limit_value: 3 },
        retryAfterSeconds: 23 * 3600,
      },
    })
  })
})

test('an owner invites no address that may not sign up, the operator adds any', async () => {
  const deps = await openFurnished()
  const closed = { ...SERVING, signup: ['@example.org'] }
  const { actor } = await anActor(deps, 'owner')
  const asOwner = performAs({ ...deps, live: closed }, actor)
  const invite = (email: string) => asOwner('accounts.members.invite', { email, role: 'viewer' })
  await invite('in@example.org')
  await expect(invite('out@elsewhere.org')).rejects.toMatchObject({
    code: 'invalid_request',
    details: { param: 'email', metadata: { limit: 'auth_signup' } },
  })
  expect(await act(deps, 'users.list', { matching: 'out@' })).toEqual([])
  await act(deps, 'accounts.members.add', { email: 'out@elsewhere.org', role: 'member' })
  await act(deps, 'accounts.create', { name: 'acme' })
  // Who is here already may be asked into another account.
  const other = await anActor(deps, 'owner', 'acme')
  const ask = performAs({ ...deps, live: closed }, other.actor)
  const asked = { account: 'acme', email: 'out@elsewhere.org', role: 'viewer' } as const
  expect(await ask('accounts.members.invite', asked)).toMatchObject({ role: 'viewer' })
})

test('people change the threshold, and ask for tests, so often a day: neither spends the other, and the operator’s are not counted', async () => {
  const deps = await openFurnished()
  const { act: asOwner } = await anActor(deps, 'owner')
  const { name: account, id } = await act(deps, 'accounts.show', { name: 'default' })
  await act(deps, 'balance.top-up', { amount_usd: '3' })
  await act(deps, 'thresholds.set', { email: 'a@example.org' })
  const tooMany = { code: 'rate_limit_exceeded' }
  for (let n = 0; n < 10; n++) await act(deps, 'thresholds.test', {})
  for (let n = 0; n < 10; n++) await asOwner('thresholds.test', { account })
  const limit = { limit: 'test_notices', limit_value: 10 }
  await expect(asOwner('thresholds.test', { account })).rejects.toMatchObject({
    ...tooMany,
    details: { metadata: limit, retryAfterSeconds: 86_400 },
  })
  // Each fall that is told of is of a change: cleared, set to the balance, and a charge.
  const notices = async () =>
    (await deps.store.notices.list({ accountId: id as never, limit: 1_000 })).length
  const tested = await notices()
  const fall = async () => {
    await asOwner('thresholds.set', { account, threshold_usd: null })
    const { balance_usd } = await act(deps, 'balance.show', {})
    await asOwner('thresholds.set', { account, threshold_usd: balance_usd })
    await act(deps, 'balance.adjust', { amount_usd: '-0.01', note: 'a charge' })
  }
  await asOwner('thresholds.set', { account, threshold_usd: '10' })
  await act(deps, 'thresholds.set', { threshold_usd: null })
  for (let n = 0; n < 5; n++) await fall()
  await expect(asOwner('thresholds.set', { account, threshold_usd: '1' })).rejects.toMatchObject({
    ...tooMany,
    details: { metadata: { limit: 'threshold_changes', limit_value: 10 } },
  })
  expect((await notices()) - tested).toBe(6)
  // What changes no threshold is not counted; nor what the operator does.
  await asOwner('thresholds.set', { account, email: 'b@example.org' })
  await act(deps, 'thresholds.set', { threshold_usd: '1' })
  deps.clock.advance(DAY_MS)
  await asOwner('thresholds.set', { account, threshold_usd: '2' })
})
