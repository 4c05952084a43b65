// What only a real browser shows of the cabinet: frames and forms of other sites, foreign words that do not run, clicks that come
// twice, the back button, and figures that live. The smaller tier asks what is refused without a browser (test/cabinet/attacks.test.ts).
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WORDS } from '#cabinet/words/words.ts'
import { HOUR_MS, later, systemClock } from '#domain/clock.ts'
import { fillLog } from '#test/cabinet/fill-log.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { FULL } from '#test/support/tier.ts'
import { openSigninGateway, type SigninGateway } from '../signin/signin-gateway.ts'
import { enter } from './enter.ts'
import { type Look, PLAIN } from './looks.ts'

const MAX_MS = 60_000
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script>`

describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let setup: SigninGateway
  let browser: Browser
  /** Another site, or one beside ours: by the name that it is asked under. */
  let other: ReturnType<typeof Bun.serve>
  /** What its page has within. */
  let content = ''

  beforeAll(async () => {
    other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(content, { headers: { 'content-type': 'text/html' } }),
    })
    ;[setup, browser] = await Promise.all([openSigninGateway(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await setup?.close()
    other?.stop(true)
  })

  let people = 0

  /** A browser in which an owner is signed in; any dialog that a page opens is a complaint. */
  async function open(look: Look = PLAIN): Promise<{
    readonly context: BrowserContext
    readonly page: Page
    readonly complaints: string[]
  }> {
    const { cookies } = await enter(setup, `p${++people}@example.org`)
    const { width, ...options } = look
    const context = await browser.newContext({ ...options, viewport: { width, height: 900 } })
    onTestFinished(() => context.close())
    const { hostname } = new URL(setup.authUrl)
    await context.addCookies(
      [...cookies]
        .filter(([, value]) => value !== '')
        .map(([name, value]) => ({ name, value, domain: hostname, path: '/', sameSite: 'Lax' })),
    )
    const page = await context.newPage()
    page.setDefaultTimeout(MAX_MS)
    const complaints: string[] = []
    page.on('dialog', (dialog) => {
      complaints.push(`it ran: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`${page.url()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    return { context, page, complaints }
  }

  const goTo = (page: Page, path: string) => page.goto(`${setup.authUrl}/cabinet${path}`)
  const keysNamed = async (name: string) =>
    (await setup.appliance.verb('keys.list', { include_revoked: true })).filter(
      (key) => key.name === name,
    )
  const besideUs = (): string => `http://127.0.0.1:${other.port}/`
  const elsewhere = (): string => `http://localhost:${other.port}/`

  test.runIf(FULL)('clickjacking: no page beside it may have it in a frame', async () => {
    const { page } = await open()
    for (const path of ['', '/keys', '/nothing']) {
      content = `<iframe src="${setup.authUrl}/cabinet${path}"></iframe>`
      await page.goto(besideUs())
      const frame = page.frames().find((one) => one !== page.mainFrame())
      await expect.poll(() => frame?.url(), { timeout: MAX_MS }).toMatch(/^chrome-error:/)
    }
  })

  test.runIf(FULL).each([
    ['of another site', elsewhere],
    ['of a page beside it, with the token', besideUs],
  ])('CSRF: a form %s makes no key', async (name, site) => {
    const { page } = await open()
    await goTo(page, '/keys/new')
    const csrf = await page.inputValue('form[action$="/keys/new"] input[name=csrf]')
    const field = (of: string, value: string) => `<input name="${of}" value="${value}">`
    content = `<form method="post" action="${setup.authUrl}/cabinet/keys/new">
      ${field('csrf', csrf)}${field('name', name)}<button>x</button></form>`
    await page.goto(site())
    const [answer] = await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'POST'),
      page.click('button'),
    ])
    // No cookie comes from another site, so that nobody is signed in; else the page is told to be no page of ours.
    expect(answer.status()).toBe(site === elsewhere ? 303 : 403)
    await page.waitForLoadState()
    expect(await keysNamed(name)).toEqual([])
  })

  test.runIf(FULL)('stored XSS: words of others do not run on any page', async () => {
    const { page, complaints } = await open()
    const { key, id } = await setup.appliance.verb('keys.create', { name: HOSTILE, note: HOSTILE })
    const body = { user: HOSTILE, messages: [{ role: 'user', content: 'hi' }] }
    const answer = await setup.appliance.chat(key, { model: 'demo/echo', ...body })
    await answer.arrayBuffer()
    const request = answer.headers.get('x-generation-id') ?? ''
    const refused = await setup.appliance.chat(key, { model: `demo/${HOSTILE}`, ...body })
    await refused.arrayBuffer()
    const email = 'hostile@example.org'
    await setup.appliance.verb('users.add', { email, name: HOSTILE, account: 'default' })
    await setup.appliance.verb('balance.top-up', { amount_usd: '1', note: HOSTILE })
    let seen = 0
    for (const path of [
      '',
      '/keys',
      `/keys/${id}`,
      '/activity',
      `/activity?user=${encodeURIComponent(HOSTILE)}`,
      `/activity/${request}`,
      '/spend?by=user',
      '/spend?by=key',
      '/balance',
      '/models/demo/echo',
      '/people',
      `/keys?find=${encodeURIComponent(HOSTILE)}`,
    ]) {
      await goTo(page, path)
      if ((await page.textContent('main'))?.includes('onerror=alert')) seen++
    }
    expect(seen).toBeGreaterThan(8)
    expect(complaints).toEqual([])
  })

  test.runIf(FULL).each([true, false])(
    'a double click makes one key: scripts %s',
    async (javaScriptEnabled) => {
      const { page } = await open({ ...PLAIN, javaScriptEnabled })
      const name = `double ${javaScriptEnabled}`
      await goTo(page, '/keys/new')
      await page.fill('#name', name)
      await page.dblclick('form[action$="/keys/new"] button[type=submit]')
      await page.waitForURL('**/secret')
      expect(await keysNamed(name)).toHaveLength(1)
    },
  )

  test.runIf(FULL)(
    'two tabs: what one has ended, the other cannot change, and says so',
    async () => {
      const { context, page } = await open()
      const { id } = await setup.appliance.verb('keys.create', { name: 'tabs', rpm_limit: 5 })
      await goTo(page, `/keys/${id}`)
      const second = await context.newPage()
      await goTo(second, `/keys/${id}/revoke`)
      await second.click('form[action$="/revoke"] button[type=submit]')
      await second.waitForURL('**saved=1')
      await page.fill('#rpm_limit', '9')
      await page.click('form[action$="/limits"] button[type=submit]')
      await expect.poll(() => page.textContent('main'), { timeout: MAX_MS }).toMatch(/revoked/)
      expect(await keysNamed('tabs')).toMatchObject([{ status: 'revoked', rpm_limit: 5 }])
    },
  )

  test.runIf(FULL)('a form of before is not sent again by Back or a reload', async () => {
    const { page } = await open({ ...PLAIN, javaScriptEnabled: false })
    await goTo(page, '/keys/new')
    await page.fill('#name', 'once')
    await page.click('form[action$="/keys/new"] button[type=submit]')
    await page.waitForURL('**/secret')
    await page.reload()
    expect(await page.locator('#secret').count()).toBe(0)
    await page.goBack()
    await page.waitForURL('**/keys/new')
    await page.goForward()
    await page.waitForURL('**/secret')
    expect(await page.locator('#secret').count()).toBe(0)
    // Only somebody who presses again sends it again; and it is the same form no more.
    expect(await keysNamed('once')).toHaveLength(1)
  })

  test.runIf(FULL).each([true, false])(
    'the back button after signing out shows no page of before: scripts %s',
    async (javaScriptEnabled) => {
      const { page } = await open({ ...PLAIN, javaScriptEnabled })
      await setup.appliance.verb('keys.create', { name: `of-before-${javaScriptEnabled}` })
      await goTo(page, '/balance')
      await goTo(page, '/keys')
      expect(await page.textContent('main')).toContain('of-before')
      await page.click('form[action$="/sign-out"] button')
      await page.waitForSelector('input[name=email]')
      for (let n = 0; n < 2; n++) {
        await page.goBack()
        await page.waitForSelector('input[name=email]')
        expect(await page.content()).not.toContain('of-before')
      }
    },
  )

  test('figures live, and a model answers word by word with its cost', async () => {
    const { page, complaints } = await open()
    await goTo(page, '')
    const balance = () => page.textContent('[data-figure="balance"]')
    const before = await balance()
    const { key } = await setup.appliance.verb('keys.create', { name: 'live' })
    const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
    await (await setup.appliance.chat(key, body)).arrayBuffer()
    await expect.poll(balance, { timeout: MAX_MS }).not.toBe(before)
    await goTo(page, '/models/demo/echo')
    await page.fill('#prompt', 'one two three')
    await page.click('form[data-stream] button')
    const answer = () => page.textContent('#answer')
    await expect.poll(answer, { timeout: MAX_MS }).toMatch(/\$[\d.]+ · .*₽/)
    expect(await answer()).toContain('one two three')
    expect(complaints).toEqual([])
  })

  test.runIf(FULL)('what is changed in place has the focus, and keeps it', async () => {
    const { page } = await open()
    const focus = () =>
      page.evaluate<string>('document.activeElement.id || document.activeElement.tagName')
    await goTo(page, '/keys')
    await page.focus('nav a[href="/cabinet/models"]')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/models')
    await expect.poll(focus, { timeout: MAX_MS }).toBe('main')
    await page.click('a[href="/cabinet/models/demo/echo"]')
    await page.waitForURL('**/demo/echo')
    await page.fill('#prompt', 'one')
    await page.focus('form[data-stream] button')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#answer:has-text("₽")')
    await expect.poll(focus, { timeout: MAX_MS }).toBe('BUTTON')
  })

  test.runIf(FULL)('who was signed out meanwhile, and asks a model, signs in again', async () => {
    const { page, complaints } = await open()
    await goTo(page, '/models/demo/echo')
    await page.fill('#prompt', 'one')
    await setup.appliance.verb('users.sessions.revoke', { person: `p${people}@example.org` })
    await page.click('form[data-stream] button')
    await page.waitForSelector('input[name=email]')
    expect(complaints).toEqual([])
  })

  test.runIf(FULL)('a link that the script cannot follow is followed without it', async () => {
    const { page } = await open()
    await goTo(page, '/keys')
    await page.route('**/cabinet/models', (route) => route.abort(), { times: 1 })
    await page.click('nav a[href="/cabinet/models"]')
    await page.waitForURL('**/models')
    expect(await page.textContent('h1')).toBe(WORDS.en.screens.models)
  })

  test.runIf(FULL).each(['en-GB', 'ru-RU'] as const)(
    'no word of the navigation is cut where a page is 320 pixels wide: %s',
    async (locale) => {
      const { page } = await open({ ...PLAIN, locale, width: 320 })
      await goTo(page, '')
      const lines = await page.evaluate<number[]>(
        `[...document.querySelectorAll('nav a')].map((link) => {
          const text = document.createRange()
          text.selectNodeContents(link)
          return text.getClientRects().length
        })`,
      )
      expect(lines).toEqual(lines.map(() => 1))
    },
  )

  test.runIf(FULL)(
    'a list that looked on by itself, and found nothing, shows the request that comes',
    async () => {
      const { page, complaints } = await open()
      const { id: busy } = await setup.appliance.verb('keys.create', { name: 'busy' })
      const { key: rare } = await setup.appliance.verb('keys.create', { name: 'rare' })
      fillLog(setup.cli.dataDir, busy, later(systemClock.now(), -HOUR_MS), 25_000)
      await goTo(page, '/activity?key=rare')
      await expect
        .poll(() => page.textContent('#requests'), { timeout: MAX_MS })
        .toContain(WORDS.en.activity.none)
      const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
      await (await setup.appliance.chat(rare, body)).arrayBuffer()
      await page.waitForSelector('#requests[data-latest^=gen] td')
      expect(complaints).toEqual([])
    },
  )
})
