// A person is revoked in the middle of a sign-in: nothing that was begun before completes it, and nothing is linked.

import { expect, onTestFinished, test } from 'vitest'
import { anAct } from '#test/support/nouns.ts'
import { openIssuer } from '#test/support/third-party.ts'
import { isSignedIn, onwardFrom, openTestSignin } from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'

async function open() {
  const deps = await openTestSignin()
  const ann = await deps.withVerified(EMAIL)
  const issuer = openIssuer()
  onTestFinished(() => issuer.close())
  await deps.add(issuer.url)
  return { deps, ann, issuer }
}

type Setup = Awaited<ReturnType<typeof open>>

/** Each begins a sign-in, and returns what would complete it. */
const begun: Readonly<Record<string, (setup: Setup) => Promise<() => Promise<unknown>>>> = {
  async 'a code by e-mail'({ deps }) {
    const browser = deps.browser()
    const asked = await browser.submit(await deps.start(browser), '/email', { email: EMAIL })
    const code = deps.mailedCodes.get(EMAIL) ?? ''
    return () => browser.submit(asked, '/code', { code })
  },
  async 'a login at a third party'({ deps, ann, issuer }) {
    const identity = { issuer: issuer.url, subject: 's-1', claimedName: EMAIL }
    await deps.store.identities.link(identity, ann.id, deps.clock.now(), 0)
    const browser = deps.browser()
    const page = await deps.start(browser)
    const address = onwardFrom(await browser.submit(page, '/identity/sso', {}))
    return () => browser.open(issuer.consent(address))
  },
  async 'an identity that waits for a code'({ deps, issuer }) {
    const browser = deps.browser()
    const page = await deps.start(browser)
    const address = onwardFrom(await browser.submit(page, '/identity/sso', {}))
    const returned = await browser.open(issuer.consent(address))
    const asked = await browser.submit(returned, '/email', { email: EMAIL })
    const code = deps.mailedCodes.get(EMAIL) ?? ''
    return () => browser.submit(asked, '/code', { code })
  },
}

test.each(Object.entries(begun))('%s completes no sign-in after it', async (_what, begin) => {
  const setup = await open()
  const { deps, ann } = setup
  const complete = await begin(setup)
  const linked = await deps.store.identities.ofPerson(ann.id)
  await deps.store.people.setDisabled(ann.id, true, anAct(deps.clock.now()))
  await deps.store.people.setDisabled(ann.id, false, anAct())
  expect(await complete()).toMatchObject({
    status: 400,
    text: expect.stringContaining('This page is out of date'),
  })
  expect(await deps.store.artifacts.countSessions(ann.id, deps.clock.now())).toBe(0)
  expect(await deps.store.identities.ofPerson(ann.id)).toEqual(linked)
  expect(await deps.store.people.find(ann.id)).toMatchObject({ lastSignInAt: ann.lastSignInAt })
  const browser = deps.browser()
  const page = await deps.start(browser)
  expect(isSignedIn(await deps.byCode(browser, page, EMAIL))).toBe(true)
  expect(deps.faults).toEqual([])
})

test('a person who asks to sign in as somebody else, in a browser of one who was never revoked, is signed in', async () => {
  const { deps, ann } = await open()
  const browser = deps.browser()
  expect(isSignedIn(await deps.byCode(browser, await deps.start(browser), 'bob@x.org'))).toBe(true)
  await deps.store.artifacts.revokePerson(ann.id, anAct(deps.clock.now()))
  const asked = await deps.start(browser, { prompt: 'login' })
  const leaving = await deps.byCode(browser, asked, EMAIL)
  expect(isSignedIn(await browser.submit(leaving, '/oauth/logout/confirm', {}))).toBe(true)
})
