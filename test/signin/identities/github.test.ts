// Sign-in by GitHub: no ID token, an id that survives a renamed login, and an address only when it is primary and verified.
import { expect, onTestFinished, test } from 'vitest'
import { type Github, openGithub } from '#test/support/third-party.ts'
import { ISSUER, isSignedIn, onwardFrom, openTestSignin } from './test-signin.ts'

async function open(authoritativeFor: string[] = []) {
  const deps = await openTestSignin()
  const github = openGithub()
  onTestFinished(() => github.close())
  await deps.add(github.url, { name: 'github', type: 'github', label: 'GitHub', authoritativeFor })
  const leave = async (browser = deps.browser()) => {
    const page = await deps.start(browser)
    return onwardFrom(await browser.submit(page, '/identity/github', {}))
  }
  const context = async (browser = deps.browser()) =>
    browser.open(github.consent(await leave(browser)))
  return { deps, github, leave, context }
}

test('people are sent with a PKCE challenge and the scopes for their address, and are identified by their id', async () => {
  const { deps, github, leave, context } = await open()
  const address = new URL(await leave())
  expect(address.href).toContain(`${github.url}/login/oauth/authorize?`)
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    client_id: 'gateway',
    redirect_uri: `${ISSUER}/identity/github/callback`,
    scope: 'read:user user:email',
    code_challenge_method: 'S256',
  })
  const browser = deps.browser()
  const page = await context(browser)
  expect(page.text).toContain('value="ann@example.org"')
  expect(isSignedIn(await deps.byCode(browser, page, 'ann@example.org'))).toBe(true)
  expect(github.redeemed[0]).toMatchObject({
    client_id: 'gateway',
    client_secret: 'canary-client-secret',
    code_verifier: expect.stringMatching(/^[\w-]{43}$/),
  })

  // Login and address have changed; the person is the same.
  github.user = { id: 583231, login: 'renamed' }
  github.emails = []
  expect(isSignedIn(await context())).toBe(true)
  const ann = await deps.store.people.findByEmail('ann@example.org')
  expect(await deps.store.identities.ofPerson(ann?.id ?? 'usr_')).toMatchObject([
    { issuer: github.url, subject: '583231', claimedName: 'renamed' },
  ])
  // Another user has taken the old login.
  github.user = { id: 99, login: 'renamed' }
  expect(isSignedIn(await context())).toBe(false)
})

test('a verified primary address is trusted where GitHub is authoritative for its domain', async () => {
  const { deps, context } = await open(['example.org'])
  await deps.withVerified('ann@example.org')
  expect(isSignedIn(await context())).toBe(true)
})

test.each<[string, Github['emails']]>([
  ['not verified', [{ email: 'ann@example.org', primary: true, verified: false }]],
  ['not the primary one', [{ email: 'ann@example.org', primary: false, verified: true }]],
  ['not there', []],
  ['no address at all', [{ email: 'ann', primary: true, verified: true }]],
])('an address that is %s is not trusted', async (_what, emails) => {
  const { deps, github, context } = await open(['example.org'])
  await deps.withVerified('ann@example.org')
  github.emails = emails
  const page = await context()
  expect(isSignedIn(page)).toBe(false)
  expect(page.text).toContain('You have not signed in with GitHub before.')
})

test.each<[string, (github: Github) => void]>([
  ['an id that is none', (github) => (github.user = { id: 'x', login: 'x' })],
  ['an id of 0', (github) => (github.user = { id: 0, login: 'x' })],
  ['an id that no number holds', (github) => (github.user = { id: 2 ** 53, login: 'x' })],
])('%s is refused', async (_what, spoil) => {
  const { deps, github, context } = await open()
  spoil(github)
  const page = await context()
  expect(page.status).toBe(400)
  expect(page.text).toContain('GitHub could not be reached')
  expect(deps.faults).toHaveLength(1)
})

test('a code that is used twice, and a refusal by the person, are explained on the page; the log contains no token', async () => {
  const { deps, github, leave } = await open()
  const browser = deps.browser()
  const back = new URL(github.consent(await leave(browser)))
  back.searchParams.set('code', 'used')
  const page = await browser.open(back.href)
  expect([page.status, isSignedIn(page)]).toEqual([400, false])
  const denied = new URL(github.consent(await leave(browser)))
  denied.searchParams.delete('code')
  denied.searchParams.set('error', 'access_denied')
  expect((await browser.open(denied.href)).text).toContain('GitHub did not sign you in')
  expect(deps.faults.map((fault) => Bun.inspect(fault)).join()).not.toMatch(/gho_|canary/)
})
