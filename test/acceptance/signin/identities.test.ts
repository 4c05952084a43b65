// One compiled gateway as the identity provider of another, driven by a client library and by a browser; and GitHub.

import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { CHROMIUM, openBrowser as openChromium } from '#test/support/browser.ts'
import { openGithub } from '#test/support/third-party.ts'
import { FULL } from '#test/support/tier.ts'
import type { Browser, Page } from './browser.ts'
import { press, start } from './live-pages.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

/** The issuer, and the gateway that trusts it; on different hosts, as cookies ignore ports. */
let issuer: SigninGateway
let deps: SigninGateway

beforeAll(async () => {
  issuer = await openSigninGateway({}, { host: '127.0.0.2' })
  deps = await openSigninGateway()
  addIssuer('first', 'First')
})
afterAll(async () => {
  await deps?.close()
  await issuer?.close()
})

/** Registers the gateway at the issuer, and the issuer at the gateway. */
function addIssuer(name: string, label: string, ...flags: readonly string[]): void {
  const redirect = `${deps.authUrl}/identity/${name}/callback`
  const { client_id, client_secret } = issuer.register(label, '--redirect-uri', redirect)
  const { code, err, out } = deps.cli.run(
    [
      ...['identities', 'add', name, '--issuer', issuer.authUrl, '--client-id', client_id],
      ...['--label', label, '--json', ...flags],
    ],
    { stdin: client_secret },
  )
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toMatchObject({ callback_url: redirect, people: 0 })
}

interface People {
  /** On the gateway's pages. */
  readonly here: Browser
  /** On the issuer's. */
  readonly there: Browser
}

const newPerson = (): People => ({ here: deps.browser(), there: issuer.browser() })

const onwardFrom = ({ text }: Page): string =>
  (/http-equiv="refresh" content="0;url=([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&')

const begin = ({ here }: People, name: string, address: string): Promise<Page> =>
  here.open(address).then((page) => here.submit(page, `/identity/${name}`, {}))

/** From the gateway's sign-in page to the issuer, through its sign-in if required, and back to the gateway. */
async function signInBy(
  people: People,
  name: string,
  email: string,
  address: string,
): Promise<Page> {
  const there = await people.there.open(onwardFrom(await begin(people, name, address)))
  const isAsked = there.url.startsWith(issuer.authUrl)
  const back = isAsked ? await issuer.signIn(people.there, there, email) : there
  expect(back.url).toContain(`${deps.authUrl}/identity/${name}/callback?code=`)
  return people.here.open(back.url)
}

const address = (): string => authorizeUrl(deps.authUrl, deps.client.client_id)

interface Shown {
  readonly id: string
  readonly identities: readonly { readonly provider: string; readonly name: string }[]
}

const show = (email: string): Shown => deps.cli.json<Shown>(['users', 'show', email])

test('openid-client signs a person in by the other gateway: with a code the first time, without one the second', async () => {
  const { client_id, client_secret } = deps.client
  const config = await oidc.discovery(
    new URL(deps.authUrl),
    client_id,
    undefined,
    oidc.ClientSecretBasic(client_secret),
    { execute: [oidc.allowInsecureRequests] },
  )
  const email = 'ann@example.org'
  const there = issuer.browser()
  const subjects: string[] = []
  for (const isFirst of [true, false]) {
    const people = { here: deps.browser(), there }
    const verifier = oidc.randomPKCECodeVerifier()
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: 'openid email',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const asked = await signInBy(people, 'first', email, url.href)
    const back = isFirst ? await deps.signIn(people.here, asked, email) : asked
    const tokens = await oidc.authorizationCodeGrant(config, new URL(back.url), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    expect(claims).toMatchObject({ iss: deps.authUrl, email, email_verified: true })
    subjects.push(claims?.sub ?? '')
  }
  expect(subjects[0]).toBe(subjects[1])
  expect(show(email)).toMatchObject({
    id: subjects[0],
    identities: [{ provider: 'first', name: email }],
  })
  const mails = deps.mail.taken.filter(({ to }) => to.includes(email))
  expect(mails).toHaveLength(1)
  expect(mails[0]?.source).toContain('you can also sign in with First')
})

test('a sign-in in progress survives a kill; its state is valid once', async () => {
  const email = 'survivor@example.org'
  const people = newPerson()
  const there = await people.there.open(onwardFrom(await begin(people, 'first', address())))
  const back = await issuer.signIn(people.there, there, email)
  await deps.killAndRestart()
  const asked = await people.here.open(back.url)
  expect([asked.status, asked.text.includes('You have not signed in with First before.')]).toEqual([
    200,
    true,
  ])
  const again = await people.here.open(back.url)
  expect([again.status, again.text.includes('First did not sign you in')]).toEqual([400, true])
  await deps.killAndRestart()
  const done = await deps.signIn(people.here, asked, email)
  expect((await redeem(deps.authUrl, deps.client, codeOf(done))).status).toBe(200)
  expect(show(email).identities).toHaveLength(1)
})

test('another browser, another interaction and another gateway’s state are refused', async () => {
  const people = newPerson()
  const there = await people.there.open(onwardFrom(await begin(people, 'first', address())))
  const back = new URL((await issuer.signIn(people.there, there, 'robbed@example.org')).url)
  const thief = deps.browser()
  await thief.open(address())
  expect((await thief.open(back.href)).status).toBe(403)
  const forged = new URL(back)
  forged.searchParams.set('state', 'made-up')
  expect((await people.here.open(forged.href)).status).toBe(400)
  const mixed = new URL(back)
  mixed.searchParams.set('iss', 'https://evil.example')
  const page = await people.here.open(mixed.href)
  expect([page.status, page.url.startsWith(deps.authUrl)]).toEqual([400, true])
  await until(
    () => deps.appliance.said().includes('signing in by "first" failed'),
    'the log says so',
  )
  expect(deps.appliance.said()).not.toContain(back.searchParams.get('code'))
})

test('a person who is disabled or unlinked, and an identity provider that is removed meanwhile, are refused', async () => {
  const email = 'ended@example.org'
  const people = newPerson()
  await deps.signIn(people.here, await signInBy(people, 'first', email, address()), email)
  deps.cli.json(['users', 'disable', email, '--yes'])
  expect((await signInBy(people, 'first', email, address())).status).toBe(403)
  deps.cli.json(['users', 'enable', email])
  const { identities } = deps.cli.json<Shown>([
    ...['users', 'identities', 'remove', email, 'first', '--yes'],
  ])
  expect(identities).toEqual([])
  const asked = await signInBy(people, 'first', email, address())
  expect(asked.text).toContain('You have not signed in with First before.')

  const brief = newPerson()
  const there = await brief.there.open(onwardFrom(await begin(brief, 'first', address())))
  const back = await issuer.signIn(brief.there, there, email)
  const removed = deps.cli.json<{ people: number }>(['identities', 'remove', 'first', '--yes'])
  expect(removed.people).toBe(2)
  const late = await brief.here.open(back.url)
  expect([late.status, late.text.includes('no longer offered')]).toEqual([400, true])
  expect(show('ann@example.org').identities).toEqual([])
  addIssuer('first', 'First')
  expect((await brief.here.open(back.url)).status).toBe(400)
})

test("GitHub on an address of its own: identified by its own id, through GitHub's API", async () => {
  const github = openGithub()
  onTestFinished(() => github.close())
  const add = ['identities', 'add', 'github', '--issuer', github.url, '--client-id', 'Iv1.x']
  const domains = ['--authoritative-for', 'example.org']
  const env = { GITHUB_SECRET: 'gh-canary-secret' }
  const { code, err } = deps.cli.run([...add, ...domains, '--from-env', 'GITHUB_SECRET'], { env })
  expect([code, err]).toEqual([0, expect.stringContaining('without TLS')])

  // The address was confirmed by a code before, and GitHub is authoritative for its domain.
  github.emails = [{ email: 'ann@example.org', primary: true, verified: true }]
  const people = newPerson()
  const back = await people.here.open(
    github.consent(onwardFrom(await begin(people, 'github', address()))),
  )
  const answer = await redeem(deps.authUrl, deps.client, codeOf(back))
  expect(answer.status).toBe(200)
  expect(show('ann@example.org').identities).toMatchObject([
    { provider: 'github', name: 'octocat' },
  ])
  const told = deps.appliance.said() + JSON.stringify(deps.cli.json(['identities', 'list']))
  expect(told).not.toMatch(/canary/)
  deps.cli.json(['identities', 'remove', 'github', '--yes'])
})

describe.runIf(CHROMIUM !== null && FULL)('in Chromium', () => {
  test('a person signs in and returns, first with codes on both sides, then with buttons only', async () => {
    const chromium = await openChromium()
    onTestFinished(() => chromium.close())
    const app = Bun.serve({
      hostname: '127.0.0.3',
      port: 0,
      fetch: () => new Response('<title>app</title>', { headers: { 'content-type': 'text/html' } }),
    })
    onTestFinished(() => app.stop(true))
    const back = `http://127.0.0.3:${app.port}/callback`
    const client = deps.register('App', '--redirect-uri', back)
    const email = 'mira@example.org'

    const context = await chromium.newContext()
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const walk = { setup: deps, client, back, page, email, look: async () => {} }
    const button = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const arrive = async (): Promise<void> => {
      await page.waitForURL(`${back}?**`)
      const code = new URL(page.url()).searchParams.get('code') ?? ''
      expect((await redeem(deps.authUrl, client, code)).status).toBe(200)
    }

    await start(walk)
    await button('Continue with First')
    await page.waitForURL(`${issuer.authUrl}/sign-in/**`)
    await page.fill('input[name=email]', email)
    await press(page, '/email')
    await page.fill('input[name=code]', await issuer.codeFor(email))
    await button('Sign in')
    await page.waitForURL(`${deps.authUrl}/sign-in/**`)
    expect(await page.getByRole('status').textContent()).toContain('First')
    expect(await page.inputValue('input[name=email]')).toBe(email)
    await press(page, '/email')
    await page.fill('input[name=code]', await deps.codeFor(email))
    await button('Sign in')
    await arrive()

    // The issuer still knows the browser: one button leads through it, back here, and to the client.
    await context.clearCookies({ domain: '127.0.0.1' })
    await start(walk)
    await button('Continue with First')
    await arrive()

    // A form of the issuer is followed by redirects through here to the client, which is another origin for its page.
    await context.clearCookies()
    await start(walk)
    await button('Continue with First')
    await page.waitForURL(`${issuer.authUrl}/sign-in/**`)
    await page.fill('input[name=email]', email)
    await press(page, '/email')
    await page.fill('input[name=code]', await issuer.codeFor(email, 2))
    await button('Sign in')
    await arrive()
    expect(complaints).toEqual([])
    expect(show(email).identities).toHaveLength(1)
  }, 60_000)
})
