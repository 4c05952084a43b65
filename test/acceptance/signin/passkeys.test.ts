// Passkeys in a real browser, whose device is Chromium's virtual authenticator, against the compiled program. The smaller tier signs in by
// one; what else is promised of them it asks without a browser (test/signin/passkeys.test.ts).
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import * as oidc from 'openid-client'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { violationsOn } from '#test/support/axe.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { FULL } from '#test/support/tier.ts'
import { press } from './live-pages.ts'
import {
  authorizeUrl,
  openSigninGateway,
  type RegisteredClient,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

/** Half a minute, also where the machine is slow. */
const LONG_MS = 120_000

interface Person {
  readonly email: string
  readonly context: BrowserContext
  readonly page: Page
  readonly device: Device
  /** What the pages could not do. */
  readonly errors: readonly string[]
}

interface Credential {
  readonly credentialId: string
  readonly signCount: number
}

interface Device {
  credentials(): Promise<readonly Credential[]>
  /** Whether it answers by itself. */
  answers(isAtOnce: boolean): Promise<void>
  remove(credentialId: string): Promise<void>
  /** Puts the credential back as it was then: a copy of the device. */
  restore(credential: Credential): Promise<void>
}

async function deviceOf(page: Page): Promise<Device> {
  const cdp: CDPSession = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async credentials() {
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
      return credentials
    },
    async answers(enabled) {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    async remove(credentialId) {
      await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
    },
    async restore(credential) {
      const { credentialId } = credential
      await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
      await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: credential as never })
    },
  }
}

describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let setup: SigninGateway
  let browser: Browser
  let client: RegisteredClient
  let home: ReturnType<typeof Bun.serve>
  let people = 0

  beforeAll(async () => {
    home = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('<!doctype html><title>app</title>signed in', HTML),
    })
    ;[setup, browser] = await Promise.all([openSigninGateway({}, { isNamed: true }), openBrowser()])
    client = setup.register('Wiki', '--redirect-uri', back())
  }, LONG_MS)
  afterAll(async () => {
    await browser?.close()
    await setup?.close()
    home?.stop(true)
  })

  const back = (): string => `http://127.0.0.1:${home.port}/callback`

  /** A browser with a device of its own. */
  async function somebody(isScripted = true): Promise<Person> {
    const nth = ++people
    const context = await browser.newContext({
      javaScriptEnabled: isScripted,
      locale: 'en',
      extraHTTPHeaders: { 'x-forwarded-for': `198.51.100.${nth}` },
    })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    return { email: `p${nth}@example.org`, context, page, device: await deviceOf(page), errors }
  }

  const begin = (page: Page, more: Readonly<Record<string, string | null>> = {}) =>
    page.goto(authorizeUrl(setup.authUrl, client.client_id, { redirect_uri: back(), ...more }))
  const isBack = (page: Page) => page.waitForURL(`${back()}*`, { timeout: LONG_MS })
  const claimsOf = async (page: Page) => {
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    const answer = await redeem(setup.authUrl, client, code, { redirect_uri: back() })
    const { id_token } = (await answer.json()) as { readonly id_token: string }
    return JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()) as object
  }
  const outcomes = (email: string) =>
    setup.cli
      .json<readonly { readonly outcome: string; readonly method: string | null }[]>([
        'users',
        'events',
        '--person',
        email,
      ])
      .map(({ outcome, method }) => [outcome, method])

  async function typeCode({ page, email }: Person): Promise<void> {
    const sent = setup.mail.taken.filter(({ to }) => to.includes(email)).length
    await page.fill('input[name=email]', email)
    await press(page, '/email')
    await page.fill('input[name=code]', await setup.codeFor(email, sent + 1))
    await press(page, '/code')
  }

  /** By a code, and then the passkey that is offered. */
  async function signUp(person: Person): Promise<void> {
    await begin(person.page)
    await typeCode(person)
    await person.page.locator('form[data-passkey=add] button').click()
    await isBack(person.page)
  }

  /** Signed out here, with the device as it is. */
  const forget = ({ context }: Person) => context.clearCookies()

  /** The answer that the page would post, and the address that it goes to; it is not sent. */
  async function answerOf({
    page,
  }: Person): Promise<{ readonly to: string; readonly response: string }> {
    const caught = Promise.withResolvers<{ to: string; response: string }>()
    await page.route('**/passkey', async (route) => {
      const request = route.request()
      const response = new URLSearchParams(request.postData() ?? '').get('response') ?? ''
      caught.resolve({ to: request.url(), response })
      await route.abort()
    })
    await begin(page)
    const answer = await caught.promise
    await page.unroute('**/passkey')
    return answer
  }
  const send = ({ context }: Person, { to, response }: { to: string; response: string }) =>
    context.request.post(to, {
      form: { response },
      headers: { origin: setup.authUrl, 'sec-fetch-site': 'same-origin' },
      maxRedirects: 3,
    })
  const codesOf = (url: string) => new URL(url).searchParams.get('code')

  test(
    'a passkey is added after a code, and then signs in alone: from the field of the address, and by its button',
    async () => {
      const ann = await somebody()
      const { page, device, email } = ann
      await begin(page)
      await typeCode(ann)
      await page.waitForSelector('form[data-passkey=add]:not([hidden])')
      expect(await violationsOn(page)).toEqual([])
      expect(await page.locator('[data-without-passkeys]').isVisible()).toBe(false)
      await page.locator('form[data-passkey=add] button').click()
      await isBack(page)
      expect(await claimsOf(page)).toMatchObject({ email, acr: '2' })
      expect(await device.credentials()).toHaveLength(1)

      // The browser suggests it in the field, and the device answers at once.
      await forget(ann)
      await begin(page)
      await isBack(page)
      expect(await claimsOf(page)).toMatchObject({ email, acr: '2', amr: ['hwk', 'user', 'mfa'] })

      await forget(ann)
      await device.answers(false)
      await begin(page)
      const button = page.locator('form[data-passkey=wait] button')
      await button.waitFor({ state: 'visible' })
      const click = button.click()
      await device.answers(true)
      await click
      await isBack(page)
      expect(outcomes(email).slice(0, 4)).toEqual([
        ['signed_in', 'passkey'],
        ['signed_in', 'passkey'],
        ['signed_in', 'code'],
        ['passkey_added', null],
      ])
      expect(ann.errors).toEqual([])
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'without scripts the pages are whole: a code signs in, and nothing else is shown',
    async () => {
      const ann = await somebody(false)
      await begin(ann.page)
      expect(await ann.page.locator('form[data-passkey]').isVisible()).toBe(false)
      expect(await ann.page.locator('.or').isVisible()).toBe(false)
      await typeCode(ann)
      await isBack(ann.page)
      expect(await claimsOf(ann.page)).toMatchObject({ acr: '1', amr: ['otp'] })
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'an answer is taken once, and only from the page that asked',
    async () => {
      const [ann, bob] = [await somebody(), await somebody()]
      await signUp(ann)
      await signUp(bob)
      await forget(ann)
      const answer = await answerOf(ann)
      // Two at the same time.
      const both = await Promise.all([send(ann, answer), send(ann, answer)])
      const codes = both.map((one) => codesOf(one.url())).filter((code) => code !== null)
      expect(new Set(codes).size).toBeLessThanOrEqual(1)
      const signedIn = () => outcomes(ann.email).filter(([, method]) => method === 'passkey').length
      expect(signedIn()).toBe(1)
      // Again, in this browser and in another one.
      await send(ann, answer)
      await forget(bob)
      const theirs = await answerOf(bob)
      await send(bob, { to: theirs.to, response: answer.response })
      expect(outcomes(ann.email)[0]).toEqual(['passkey_refused', 'passkey'])
      expect(outcomes(ann.email).filter(([outcome]) => outcome === 'signed_in')).toHaveLength(2)

      // A page at another port of this host asks the device for the same.
      const other = Bun.serve({ port: 0, fetch: () => new Response('<!doctype html>', HTML) })
      onTestFinished(() => void other.stop(true))
      await forget(ann)
      await ann.device.answers(false)
      await begin(ann.page)
      const form = ann.page.locator('form[data-passkey=wait]')
      const options = JSON.parse((await form.getAttribute('data-options')) ?? '{}') as object
      const to = new URL((await form.getAttribute('action')) ?? '', setup.authUrl).href
      await ann.page.goto(`http://localhost:${other.port}/`)
      await ann.device.answers(true)
      const response = await ann.page.evaluate(
        // In the browser, which knows these.
        `(async () => JSON.stringify((await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}),
        })).toJSON()))()`,
      )
      const phished = await send(ann, { to, response: response as string })
      expect(await phished.text()).toContain('This passkey is not known here')
      const [last] = setup.cli.json<readonly { readonly detail: string }[]>([
        'users',
        'events',
        '--person',
        ann.email,
        '--limit',
        '1',
      ])
      expect(last?.detail).toContain(`http://localhost:${other.port}`)
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'a challenge that has expired is asked anew',
    async () => {
      const ann = await somebody()
      await signUp(ann)
      await forget(ann)
      const answer = await answerOf(ann)
      change(setup, 'UPDATE passkey_challenges SET expires_at = 1')
      const late = await send(ann, answer)
      expect(await late.text()).toContain('The passkey came too late')
      await begin(ann.page)
      await isBack(ann.page)
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'a copy of the device is refused once the device itself was used',
    async () => {
      const ann = await somebody()
      await signUp(ann)
      const [before] = await ann.device.credentials()
      await forget(ann)
      await begin(ann.page)
      await isBack(ann.page)
      if (before !== undefined) await ann.device.restore(before)
      await forget(ann)
      await begin(ann.page)
      await ann.page.waitForURL(/problem=passkey-refused/)
      await ann.page.close()
      expect(outcomes(ann.email)).toContainEqual(['passkey_cloned', 'passkey'])
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'an operator lists and removes a passkey, which then signs in no more; disabled people have none to use',
    async () => {
      const ann = await somebody()
      await signUp(ann)
      const { email } = ann
      const list = setup.cli.json<readonly { readonly id: string; readonly name: string }[]>([
        'users',
        'passkeys',
        'list',
        email,
      ])
      expect(list).toMatchObject([{ name: 'Chrome, Linux', synced: false }])
      expect(setup.cli.run(['users', 'show', email]).out).toContain(
        `Chrome, Linux (${list[0]?.id})`,
      )

      setup.cli.json(['users', 'disable', email, '--yes'])
      await forget(ann)
      await begin(ann.page)
      await ann.page.waitForSelector('text=You cannot sign in')
      setup.cli.json(['users', 'enable', email])
      const removed = setup.cli.json([
        'users',
        'passkeys',
        'remove',
        email,
        list[0]?.id ?? '',
        '--yes',
      ])
      expect(removed).toMatchObject({ person: email, removed: true })
      await forget(ann)
      await begin(ann.page)
      await ann.page.waitForURL(/problem=passkey-refused/)
      // The device answers at once, again and again.
      await ann.page.close()
      expect(outcomes(email)[0]).toEqual(['users.passkeys.remove', null])
      // It is nobody's now.
      const refused = ['users', 'events', '--outcome', 'passkey_refused', '--limit', '1']
      expect(setup.cli.json(refused)).toMatchObject([{ detail: 'not known', person: null }])
    },
    LONG_MS,
  )

  test.runIf(FULL)(
    'in the cabinet a person sees their passkeys, adds one and removes it',
    async () => {
      const ann = await somebody()
      const { page, device, email } = ann
      setup.cli.json(['accounts', 'members', 'add', 'default', email, '--role', 'owner'])
      const isInvited = () => setup.mail.taken.some(({ to }) => to.includes(email))
      await until(isInvited, 'the invitation came')
      await page.goto(`${setup.authUrl}/cabinet/you`)
      await typeCode(ann)
      await press(page, '/skip-passkey')
      await page.waitForURL('**/cabinet/you')
      await page.locator('form[data-passkey=add] button').click()
      await page.locator('text=Chrome, Linux').last().waitFor()
      await page.waitForSelector('form[action="/cabinet/you/passkeys/remove"]')
      expect(await device.credentials()).toHaveLength(1)
      // The device has one, and says so.
      await page.locator('form[data-passkey=add] button').click()
      await page.waitForSelector('text=This device has a passkey for you already')
      await forget(ann)
      await page.goto(`${setup.authUrl}/cabinet`)
      await page.waitForSelector('nav')
      await page.locator('nav a[href="/cabinet/you"]').click()
      await page.locator('form[action="/cabinet/you/passkeys/remove"] button').click()
      await page.waitForSelector('form[action="/cabinet/you/passkeys/remove"]', {
        state: 'detached',
      })
      expect(setup.cli.json(['users', 'passkeys', 'list', email])).toEqual([])
      expect(outcomes(email)).toContainEqual(['passkey_added', null])
      expect(outcomes(email)[0]).toEqual(['users.passkeys.remove', null])
      expect(ann.errors).toEqual([])
    },
    LONG_MS,
  )
})

describe.runIf(CHROMIUM !== null && FULL)('where a passkey is required', () => {
  /** A gateway that requires one, and a browser with a device. */
  async function open() {
    const home = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('in') })
    const setup = await openSigninGateway({ GATEWAY_AUTH_PASSKEYS: 'required' }, { isNamed: true })
    const browser = await openBrowser()
    onTestFinished(async () => {
      await browser.close()
      await setup.close()
      home.stop(true)
    })
    const back = `http://127.0.0.1:${home.port}/callback`
    const client = setup.register('Wiki', '--redirect-uri', back)
    const context = await browser.newContext({ locale: 'en' })
    const page = await context.newPage()
    const device = await deviceOf(page)
    const start = () =>
      page.goto(authorizeUrl(setup.authUrl, client.client_id, { redirect_uri: back }))
    /** From a sign-in page of this gateway or another, by a mailed code. */
    const typeCode = async (email: string, { mail, codeFor } = setup): Promise<void> => {
      const sent = mail.taken.filter(({ to }) => to.includes(email)).length
      await page.fill('input[name=email]', email)
      await press(page, '/email')
      await page.fill('input[name=code]', await codeFor(email, sent + 1))
      await press(page, '/code')
    }
    const byCode = async (email: string): Promise<void> => {
      await device.answers(false)
      await start()
      await typeCode(email)
      await device.answers(true)
    }
    const give = (does: 'add' | 'use') =>
      page.locator(`form[data-passkey=${does}] button`).click({ timeout: LONG_MS })
    const isBack = () => page.waitForURL(`${back}*`, { timeout: LONG_MS })
    return { setup, context, page, device, start, typeCode, byCode, give, isBack }
  }

  test(
    'the first sign-in adds one, and each further one shows it; somebody else’s does not do',
    async () => {
      const { context, page, device, byCode, give, isBack } = await open()
      const made: Credential[] = []
      for (const email of ['ann@example.org', 'bob@example.org']) {
        await byCode(email)
        expect(await page.locator('form[action$="/skip-passkey"]').count()).toBe(0)
        await give('add')
        await isBack()
        await context.clearCookies()
        made.push(...(await device.credentials()).filter((one) => !made.some(isLike(one))))
      }
      await byCode('ann@example.org')
      await give('use')
      await isBack()
      await context.clearCookies()

      // The page names whose passkeys it takes: the browser finds none of them.
      await byCode('ann@example.org')
      await device.remove(made[0]?.credentialId ?? '')
      expect(await device.credentials()).toMatchObject([{ credentialId: made[1]?.credentialId }])
      await give('use')
      await page.waitForSelector('text=No passkey was given', { timeout: LONG_MS })
      expect(page.url()).toContain('/sign-in/')
    },
    LONG_MS,
  )

  test(
    'whoever comes from a device or from a third party is asked for one too',
    async () => {
      const { setup, context, page, device, start, typeCode, give, isBack } = await open()
      const made = setup.cli.json<RegisteredClient>([
        ...['clients', 'create', 'Shell', '--public', '--device'],
      ])
      const issuer = new URL(setup.authUrl)
      const insecure = { execute: [oidc.allowInsecureRequests] }
      const shell = await oidc.discovery(issuer, made.client_id, undefined, oidc.None(), insecure)
      expect(shell.serverMetadata().acr_values_supported).toEqual(['1', '2'])
      await device.answers(false)
      const scope = 'openid email'
      const begun = await oidc.initiateDeviceAuthorization(shell, { scope })
      const tokens = oidc.pollDeviceAuthorizationGrant(shell, begun)
      await page.goto(begun.verification_uri_complete ?? '')
      await page.locator('button[name=confirm]').click()
      await page.waitForSelector('input[name=email]')
      await typeCode('ann@example.org')
      await device.answers(true)
      await give('add')
      await page.locator('button[value=allow]').click({ timeout: LONG_MS })
      await page.waitForSelector('text=The device is signed in')
      expect((await tokens).claims()).toMatchObject({ acr: '2' })
      await context.clearCookies()

      const party = await openSigninGateway({}, { host: '127.0.0.2' })
      onTestFinished(() => party.close())
      const there = party.register(
        'Here',
        '--redirect-uri',
        `${issuer.origin}/identity/sso/callback`,
      )
      const flags = ['--issuer', party.authUrl, '--client-id', there.client_id]
      const added = setup.cli.run(['identities', 'add', 'sso', ...flags], {
        stdin: there.client_secret,
      })
      expect(added.code, added.err).toBe(0)
      for (const isFirst of [true, false]) {
        await device.answers(false)
        await start()
        await page.locator('form[action$="/identity/sso"] button').click()
        if (isFirst) {
          await page.waitForURL(`${party.authUrl}/**`, { timeout: LONG_MS })
          await typeCode('ann@example.org', party)
          await page.waitForURL(`${issuer.origin}/sign-in/**`, { timeout: LONG_MS })
          await typeCode('ann@example.org')
        }
        await page.waitForSelector('form[data-passkey=use]', { timeout: LONG_MS })
        await device.answers(true)
        await give('use')
        await isBack()
        await context.clearCookies({ domain: 'localhost' })
      }
    },
    LONG_MS,
  )
})

const isLike =
  ({ credentialId }: Credential) =>
  (other: Credential): boolean =>
    other.credentialId === credentialId

const HTML = { headers: { 'content-type': 'text/html' } }

/** Changes the books beside the running program. */
function change(setup: SigninGateway, sql: string): void {
  const database = new Database(join(setup.cli.dataDir, 'gateway.db'))
  try {
    database.run('PRAGMA busy_timeout = 5000')
    database.run(sql)
  } finally {
    database.close()
  }
}
