// An invitation from the cabinet: nobody belongs to an account before they accept, and only they can. Whoever belongs to none is in by
// signing in.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#domain/clock.ts'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House
/** Moved ahead by what a test waits for. */
let aheadMs = 0

beforeAll(async () => {
  const clock = { ...systemClock, now: () => (systemClock.now() + aheadMs) as never }
  house = await openHouse({ clock })
})
afterAll(() => house.close())

/** An account with an owner, and somebody of another account whom they have invited to it. */
async function begin(name: string, role: 'owner' | 'member' | 'viewer' = 'member') {
  await house.act('accounts.members.add', {
    account: 'default',
    email: `invited@${name}.org`,
    role: 'viewer',
  })
  return await invite(name, role)
}

/** An account with an owner, and somebody whom they have invited to it, and who may be nobody yet. */
async function invite(name: string, role: 'owner' | 'member' | 'viewer') {
  await house.act('accounts.create', { name })
  const owner = await house.person(`owner@${name}.org`, 'owner', name)
  const email = `invited@${name}.org`
  const csrf = csrfOf(await owner.browser.open('/cabinet/people'))
  const sent = await post(owner.browser, house.authUrl, '/cabinet/people', { csrf, email, role })
  expect([sent.status, sent.text]).toEqual([200, expect.stringContaining(`${email} is invited.`)])
  const members = async () =>
    (await house.act('accounts.members.list', { account: name })).map((one) => [
      one.email,
      one.pending === null ? one.role : 'pending',
    ])
  const people = () => owner.browser.open(`/cabinet/people?account=${name}`)
  return { email, owner, csrf, members, people }
}

const answer = async (browser: Browser, what: 'accept' | 'decline', of?: string) => {
  const page = await browser.open('/cabinet/invitations')
  const invitation = of ?? /name="invitation" value="(inv_[^"]+)"/.exec(page.text)?.[1] ?? ''
  const fields = { csrf: csrfOf(page), invitation }
  return await post(browser, house.authUrl, `/cabinet/invitations/${what}`, fields)
}

test('whoever belongs to no account signs in, and is in', async () => {
  const { email, members } = await invite('newcomers', 'member')
  expect(await members()).toContainEqual([email, 'pending'])
  const browser = await house.signIn(email)
  const page = await browser.open('/cabinet/keys')
  expect([page.status, page.text]).toEqual([
    200,
    expect.stringMatching(/newcomers[\s\S]*?class="role">Member/),
  ])
  expect(await members()).toContainEqual([email, 'member'])
  const [newest] = await house.act('acts.list', { limit: 1 })
  expect(newest).toMatchObject({
    verb: 'accounts.members.accept',
    who: expect.stringMatching(`^${email} \\(usr_`),
  })
  // Signed in already, they are asked.
  await house.act('accounts.members.remove', { account: 'newcomers', person: email })
  await house.act('accounts.members.invite', { account: 'newcomers', email, role: 'viewer' })
  expect((await browser.open('/cabinet/keys')).url).toBe(`${house.authUrl}/cabinet/invitations`)
  expect(await members()).toContainEqual([email, 'pending'])
})

test('whoever belongs to no account and is invited to two chooses', async () => {
  const { email, members } = await invite('choosing', 'member')
  await house.act('accounts.create', { name: 'another' })
  await house.act('accounts.members.invite', { account: 'another', email, role: 'viewer' })
  const browser = await house.signIn(email)
  const page = await browser.open('/cabinet/keys')
  expect([page.url, page.text]).toEqual([
    `${house.authUrl}/cabinet/invitations`,
    expect.stringMatching(/choosing[\s\S]*another/),
  ])
  expect(await members()).toContainEqual([email, 'pending'])
})

test('it says which account, which role and by whom, and holds from acceptance', async () => {
  const { email, members, people } = await begin('accepting')
  expect(await members()).toEqual([
    ['owner@accepting.org', 'owner'],
    [email, 'pending'],
  ])
  expect((await people()).text).toMatch(/<h2>Invitations<\/h2>[\s\S]*Send again[\s\S]*Withdraw/)
  const browser = await house.signIn(email)
  const page = await browser.open('/cabinet/invitations')
  for (const said of ['accepting', 'owner@accepting.org', 'Member: makes keys']) {
    expect(page.text).toContain(said)
  }
  expect(await members()).toHaveLength(2)
  const landed = await answer(browser, 'accept')
  expect([landed.url, landed.text]).toEqual([
    `${house.authUrl}/cabinet`,
    expect.stringContaining('accepting'),
  ])
  expect(await members()).toContainEqual([email, 'member'])
  // A second click, or the back button.
  expect((await answer(browser, 'accept')).text).toContain(`No invitation waits for ${email}`)
  const [newest] = await house.act('acts.list', { limit: 1 })
  expect(newest).toMatchObject({
    verb: 'accounts.members.accept',
    who: expect.stringMatching(`^${email} \\(usr_`),
  })
  expect((await people()).text).not.toContain('Send again')
})

test('declined, or withdrawn, it makes nobody a member', async () => {
  const { email, owner, csrf, members, people } = await begin('declining')
  const browser = await house.signIn(email)
  expect((await answer(browser, 'decline')).text).toContain('No invitation waits')
  expect(await members()).toHaveLength(1)

  const again = { csrf, email, role: 'viewer' }
  await post(owner.browser, house.authUrl, '/cabinet/people', again)
  const page = await browser.open('/cabinet/invitations')
  const invitation = /value="(inv_[^"]+)"/.exec(page.text)?.[1] ?? ''
  const form = /action="([^"]+inv_[^"]+\/remove)"/.exec((await people()).text)?.[1] ?? ''
  const withdrawn = await post(owner.browser, house.authUrl, form, { csrf, account: 'declining' })
  expect(withdrawn.text).toContain('Withdrawn.')
  await answer(browser, 'accept', invitation)
  expect(await members()).toHaveLength(1)
})

test('it is answered by its address alone, from a page of one’s own, and shown to who is a member elsewhere', async () => {
  const { email, members } = await begin('own', 'owner')
  const invited = await house.signIn(email)
  const page = await invited.open('/cabinet/invitations')
  const invitation = /value="(inv_[^"]+)"/.exec(page.text)?.[1] ?? ''
  const stranger = await house.person('stranger@own.org', 'owner')
  await answer(stranger.browser, 'accept', invitation)
  await answer(stranger.browser, 'decline', invitation)
  const forged = { csrf: 'x', invitation }
  expect((await post(invited, house.authUrl, '/cabinet/invitations/accept', forged)).status).toBe(
    403,
  )
  expect(await members()).toContainEqual([email, 'pending'])

  const [own, ask] = [await house.person('busy@own.org', 'viewer'), 'See the invitation']
  expect((await own.browser.open('/cabinet/you')).text).not.toContain(ask)
  await house.act('accounts.members.invite', { account: 'own', email: own.email, role: 'member' })
  expect((await own.browser.open('/cabinet/you')).text).toContain(ask)
  await answer(own.browser, 'accept')
  // The account that they joined is the one that they look at.
  expect((await own.browser.open('/cabinet/you')).text).toContain('own</bdi> · Member')
})

test('sent again it lasts anew, and after fourteen days it has ended', async () => {
  const { email, csrf, owner, members, people } = await begin('lasting')
  const untilOf = async () =>
    (await house.act('accounts.members.list', { account: 'lasting' })).at(-1)?.pending?.expires_at
  const first = await untilOf()
  aheadMs += 60_000
  const form = /action="([^"]+inv_[^"]+\/again)"/.exec((await people()).text)?.[1] ?? ''
  const sent = await post(owner.browser, house.authUrl, form, { csrf, account: 'lasting' })
  expect(sent.text).toContain(`${email} is invited.`)
  expect(Date.parse((await untilOf()) ?? '') - Date.parse(first ?? '')).toBeGreaterThan(59_000)
  expect(await members()).toHaveLength(2)
  aheadMs += 14 * 86_400_000
  expect(await members()).toHaveLength(1)
  const browser = await house.signIn(email)
  expect((await browser.open('/cabinet/invitations')).text).toContain('No invitation waits')
})

test('whoever belongs to the account already is not asked', async () => {
  const { csrf, owner } = await begin('asking')
  const fields = { csrf, email: 'OWNER@asking.org', role: 'viewer' }
  const page = await post(owner.browser, house.authUrl, '/cabinet/people', fields)
  expect([page.status, page.text]).toEqual([409, expect.stringContaining('already')])
})
