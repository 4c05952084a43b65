// Every page of the running sign-in provider in a real browser: screen readers, keyboard, dark mode, small screens.
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { STYLE_SOURCE } from '#signin/pages/style.ts'
import { violationsOn } from '#test/support/axe.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { FULL } from '#test/support/tier.ts'
import {
  type Look,
  press,
  start,
  type Walk,
  walkCodes,
  walkDevice,
  walkErrors,
  walkSession,
} from './live-pages.ts'
import {
  authorizeUrl,
  openSigninGateway,
  type RegisteredClient,
  type SigninGateway,
} from './signin-gateway.ts'

/** If set, a directory where a screenshot of each page is saved for review. */
const SCREENSHOTS = process.env['GATEWAYCTL_SCREENSHOTS']

const LONG_NAME =
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenverleih of the Northern Office & Co.'
const SCREENS = ([390, 1280] as const).flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => ({ width, scheme })),
)
describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let setup: SigninGateway
  let browser: Browser
  let client: RegisteredClient
  let home: ReturnType<typeof Bun.serve>
  let networks = 0
  /** The callbacks that the client received, newest last. */
  const brought: { readonly method: string; readonly fields: Readonly<Record<string, string>> }[] =
    []

  beforeAll(async () => {
    home = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const { pathname, searchParams } = new URL(request.url)
        const { method } = request
        const said = method === 'POST' ? new URLSearchParams(await request.text()) : searchParams
        if (pathname === '/callback') brought.push({ method, fields: Object.fromEntries(said) })
        if (pathname === '/on') return Response.redirect(`http://localhost:${home.port}/elsewhere`)
        if (pathname === '/form') return posting(`${setup.authUrl}/oauth/logout`)
        return new Response('signed in')
      },
    })
    ;[setup, browser] = await Promise.all([openSigninGateway(), openBrowser()])
    const at = `http://127.0.0.1:${home.port}`
    client = setup.register(
      LONG_NAME,
      '--redirect-uri',
      `${at}/callback`,
      '--redirect-uri',
      `${at}/on`,
      '--logout-uri',
      `${at}/bye`,
      '--logout-uri',
      `${at}/on`,
    )
  })
  afterAll(async () => {
    await browser?.close()
    await setup?.close()
    home?.stop(true)
  })

  const visit = async (
    locale: string,
    more: BrowserContextOptions = {},
  ): Promise<{ context: BrowserContext; page: Page }> => {
    const headers = { 'x-forwarded-for': `198.51.100.${++networks}` }
    // A colour in transition has no meaningful contrast.
    const options = { locale, reducedMotion: 'reduce', extraHTTPHeaders: headers } as const
    const context = await browser.newContext({ ...options, ...more })
    onTestFinished(() => context.close())
    return { context, page: await context.newPage() }
  }
  const walkOf = (page: Page, email: string, look: Look): Walk => ({
    setup,
    client,
    back: `http://127.0.0.1:${home.port}/callback`,
    page,
    email,
    look,
  })

  // The smaller tier looks at a view of every page, by test/signin/pages.
  test.runIf(FULL).each(['en', 'ru'])(
    'no page has an accessibility violation, in any view: %s',
    async (language) => {
      const { context, page } = await visit(language)
      const seen: string[] = []
      const look: Look = async (name) => {
        seen.push(name)
        expect(await page.evaluate('document.documentElement.lang'), name).toBe(language)
        for (const screen of SCREENS) await checkPage(page, `${name}-${language}`, screen)
      }
      const long = `a-very-long-local-part-of-an-address-${language}@mail.example.org`
      await walkCodes(walkOf(page, `codes-${language}@example.org`, look))
      await walkDevice(walkOf(page, `device-${language}@example.org`, look))
      await context.clearCookies()
      await walkSession(walkOf(page, long, look))
      await walkErrors(walkOf(page, `errors-${language}@example.org`, look), context)
      expect(seen.length).toBe(new Set(seen).size)
    },
    240_000,
  )

  test.runIf(FULL)('signing in needs only a keyboard', async () => {
    const { page } = await visit('en')
    const email = 'keys@example.org'
    await start(walkOf(page, email, async () => {}))
    await page.waitForSelector('input[name=email]:focus')
    await page.keyboard.type(email)
    await page.keyboard.press('Enter')
    await page.waitForSelector('input[name=code]:focus')
    await page.keyboard.press('Tab')
    expect(await focusRingOf(page)).not.toBe('none')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.type(await setup.codeFor(email))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.waitForURL(`http://127.0.0.1:${home.port}/callback*`)
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^[\w-]{43}$/)
  })

  /** From the first page to the application's callback. */
  const signInAs = async (page: Page, email: string): Promise<void> => {
    await page.fill('input[name=email]', email)
    await press(page, '/email')
    await page.fill('input[name=code]', await setup.codeFor(email))
    const isHome = page.waitForURL(`http://127.0.0.1:${home.port}/callback*`)
    await page.locator('form[action$="/code"] button').first().click()
    await isHome
  }

  test.runIf(FULL)('an address in any script may be typed', async () => {
    const { page } = await visit('en')
    const email = 'пётр@example.org'
    await start(walkOf(page, email, async () => {}))
    await press(page, '/email')
    expect(await page.textContent('.problem')).toMatch(/^This does not look like an e-mail address/)
    await signInAs(page, email)
  })

  test.runIf(FULL)(
    'a sign-out that another site posts asks for confirmation, and ends nothing by itself',
    async () => {
      const { page } = await visit('en')
      const email = 'posted@example.org'
      await start(walkOf(page, email, async () => {}))
      await signInAs(page, email)
      // Under another host name this machine is another site, whose forms send no cookie.
      await page.goto(`http://localhost:${home.port}/form`)
      await page.locator('button').click()
      await page.waitForSelector('form[action$="/confirm"] button:not([name])')
      expect(await page.textContent('main')).toContain(email)
      await page.locator('button:not([name])').click()
      await page.waitForURL('**/oauth/logout/success*')
      expect(await page.textContent('h1')).toBe('You are still signed in')
    },
  )

  test.runIf(FULL)('neither Back nor a reload submits a form again', async () => {
    const { page } = await visit('en')
    const email = 'back@example.org'
    const posts: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST')
        posts.push(new URL(request.url()).pathname.split('/')[3] ?? '')
    })
    await start(walkOf(page, email, async () => {}))
    await page.fill('input[name=email]', 'nobody')
    await press(page, '/email')
    await page.reload()
    expect(await page.inputValue('input[name=email]')).toBe('nobody')
    await page.fill('input[name=email]', email)
    await press(page, '/email')
    const code = await setup.codeFor(email)
    await page.fill(
      'input[name=code]',
      code.replace(/\d$/, (digit) => String(9 - Number(digit))),
    )
    await press(page, '/code')
    await page.reload()
    expect(await page.textContent('.problem')).toContain('4 attempts are left')
    await press(page, '/resend')
    await page.reload()
    expect(await page.textContent('.notice')).toContain('A new code is on its way')
    await page.goBack()
    expect(await page.textContent('.problem')).toContain('4 attempts are left')
    await page.goForward()
    expect(await page.textContent('.notice')).toContain('A new code is on its way')
    expect(posts).toEqual(['email', 'email', 'code', 'resend'])
    await setup.codeFor(email, 2)
    expect(setup.mail.taken.filter(({ to }) => to.includes(email))).toHaveLength(2)
  })

  // What the provider answers to a form is seen here alone, in the smaller tier too.
  test.each(FULL ? [true, false] : [true])(
    'an application may redirect to another origin: after a code, consent, another person, a sign-out; scripts: %s',
    async (javaScriptEnabled) => {
      const { page } = await visit('en', { javaScriptEnabled })
      const on = `http://127.0.0.1:${home.port}/on`
      const elsewhere = `http://localhost:${home.port}/elsewhere`
      const [one, two] = [
        `one-${javaScriptEnabled}@example.org`,
        `two-${javaScriptEnabled}@example.org`,
      ]
      const leadsOn = async (button: string): Promise<void> => {
        const isThere = page.waitForURL(elsewhere)
        await page.locator(button).first().click()
        await isThere
      }
      const enterCode = async (email: string, more: Readonly<Record<string, string>>) => {
        await start({ ...walkOf(page, email, async () => {}), back: on }, more)
        await page.fill('input[name=email]', email)
        await press(page, '/email')
        await page.fill('input[name=code]', await setup.codeFor(email))
      }
      await enterCode(one, {})
      await leadsOn('form[action$="/code"] button')
      const consent = { prompt: 'consent', scope: 'openid offline_access', redirect_uri: on }
      await page.goto(authorizeUrl(setup.authUrl, client.client_id, consent))
      await leadsOn('form[action$="/consent"] button')
      if (javaScriptEnabled) {
        await enterCode(two, { prompt: 'login' })
        await leadsOn('form[action$="/code"] button')
      }
      const query = new URLSearchParams({
        client_id: client.client_id,
        post_logout_redirect_uri: on,
      })
      await page.goto(`${setup.authUrl}/oauth/logout?${query}`)
      await leadsOn('button[name=logout]')
    },
    60_000,
  )

  describe('a page that submits itself', () => {
    const CODE = /^[\w-]{43}$/

    /** The provider's pages, and the errors that the browser reported. */
    const watch = (page: Page) => {
      const pages: Readonly<Record<string, string>>[] = []
      const errors: string[] = []
      page.on('response', (response) => {
        const isPage = response.status() < 300 && response.request().isNavigationRequest()
        if (isPage && response.url().startsWith(setup.authUrl)) pages.push(response.headers())
      })
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      return { pages, errors }
    }
    const guardedBy = (policy: string) =>
      expect.objectContaining({
        'content-security-policy': policy,
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      })
    const policyTo = (origin: string): string =>
      `default-src 'none'; style-src ${STYLE_SOURCE}; img-src data:; script-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' ${origin}`

    const signIn = async (walk: Walk, more: Readonly<Record<string, string>>) => {
      const { page, email } = walk
      await start(walk, more)
      await page.fill('input[name=email]', email)
      await press(page, '/email')
      await page.fill('input[name=code]', await setup.codeFor(email))
      const isHome = page.waitForURL(`${walk.back}*`)
      await page.locator('form[action$="/code"] button').first().click()
      await isHome
    }
    const silently = async () => {}
    /** The last page with a script; one that navigates onwards may follow it. */
    const submitting = (pages: readonly Readonly<Record<string, string>>[]) =>
      pages.findLast((headers) => headers['content-security-policy']?.includes('script-src'))

    test.runIf(FULL)('posts a code, or an error, to a client that uses form_post', async () => {
      const { page } = await visit('en')
      const { pages, errors } = watch(page)
      const walk = walkOf(page, 'form@example.org', silently)
      await signIn(walk, { response_mode: 'form_post' })
      expect(brought.at(-1)).toMatchObject({
        method: 'POST',
        fields: { code: expect.stringMatching(CODE), state: 'state-of-the-session' },
      })
      expect(submitting(pages)).toEqual(guardedBy(policyTo(new URL(walk.back).origin)))
      expect(errors).toEqual([])
      const stranger = await visit('en')
      const other = watch(stranger.page)
      const silent = { response_mode: 'form_post', prompt: 'none' }
      const isHome = stranger.page.waitForURL(`${walk.back}*`)
      await start(walkOf(stranger.page, 'nobody@example.org', silently), silent).catch(() => {})
      await isHome
      expect(brought.at(-1)).toMatchObject({ method: 'POST', fields: { error: 'login_required' } })
      expect(other.errors.filter((text) => !text.includes('status of 400'))).toEqual([])
    })

    test.runIf(FULL)(
      "signs out a browser in which nobody is signed in, and goes to the client's address",
      async () => {
        const { page } = await visit('en')
        const { pages, errors } = watch(page)
        const after = `http://127.0.0.1:${home.port}/bye`
        const query = new URLSearchParams({
          client_id: client.client_id,
          post_logout_redirect_uri: after,
        })
        const isThere = page.waitForURL(after)
        await page.goto(`${setup.authUrl}/oauth/logout?${query}`, { waitUntil: 'commit' })
        await isThere
        expect(submitting(pages)).toEqual(guardedBy(policyTo(new URL(after).origin)))
        expect(errors).toEqual([])
      },
    )

    test.runIf(FULL)('continues to the client after another person has signed in', async () => {
      const { page } = await visit('en')
      await signIn(walkOf(page, 'first@example.org', silently), {})
      const { pages, errors } = watch(page)
      const second = walkOf(page, 'second@example.org', silently)
      await signIn(second, { prompt: 'login' })
      expect(brought.at(-1)?.fields['code']).toMatch(CODE)
      expect(submitting(pages)).toEqual(guardedBy(policyTo(new URL(second.back).origin)))
      expect(errors).toEqual([])
    })
  })
})

/** A page of another site with a form that posts to this address. */
const posting = (action: string): Response =>
  new Response(`<form method="post" action="${action}"><button>x</button></form>`, {
    headers: { 'content-type': 'text/html' },
  })

const focusRingOf = (page: Page) =>
  page.evaluate('getComputedStyle(document.activeElement).outlineStyle')

interface Screen {
  readonly width: number
  readonly scheme: 'light' | 'dark'
}

async function checkPage(page: Page, name: string, { width, scheme }: Screen): Promise<void> {
  await page.setViewportSize({ width, height: 844 })
  await page.emulateMedia({ colorScheme: scheme })
  const title = `${name}-${width}-${scheme}`
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${title}.png`) })
  expect(await violationsOn(page), title).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth'), title).toBe(width)
}
