// The pages in a real browser: keyboard, small screens, screen readers, and what the content security policy allows.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Language } from '#domain/language.ts'
import { serveAssets } from '#pages/assets.ts'
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { type PageSetting, pageResponse } from '#signin/pages/respond.ts'
import { violationsOn } from '#test/support/axe.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { FULL } from '#test/support/tier.ts'
import { VIEWS } from './views.ts'

const answerAsset = serveAssets([PASSKEY_SCRIPT])

/** All pages except the one that redirects by itself. */
const STAYING = Object.keys(VIEWS).filter((name) => name !== 'onward' && name !== 'posted')

/** Of each page the last view: the others differ in a sentence, and are HTML of the same template (`render.test.ts`). */
const OF_EACH_PAGE = [...new Map(STAYING.map((name) => [VIEWS[name]?.page, name])).values()]

interface Posted {
  readonly path: string
  readonly origin: string | null
  readonly fields: Readonly<Record<string, string>>
}

/** The response to every post. */
type Answer = () => Response | Promise<Response>

const seeOther = (address: string): Response =>
  new Response(null, { status: 303, headers: { Location: address } })

/** A sign-in listener that serves any view by its name. */
function openListener(
  setting: Partial<PageSetting> = {},
  answer: Answer = () => seeOther('/after'),
) {
  const posted: Posted[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams, origin } = new URL(request.url)
      if (request.method === 'POST') {
        const fields = Object.fromEntries(new URLSearchParams(await request.text()))
        posted.push({ path: pathname, origin: request.headers.get('origin'), fields })
        return await answer()
      }
      const asset = answerAsset(request)
      if (asset !== undefined) return asset
      const view = VIEWS[decodeURIComponent(pathname.slice(1))]
      if (!view) return new Response('arrived')
      const language = (searchParams.get('language') ?? 'en') as Language
      return await pageResponse(view, { language, issuer: origin, ...setting })
    },
  })
  const stop = () => server.stop(true)
  return { origin: `http://127.0.0.1:${server.port}`, posted, stop }
}

type Listener = ReturnType<typeof openListener>

function listenForOneTest(setting?: Partial<PageSetting>, answer?: Answer): Listener {
  const listener = openListener(setting, answer)
  onTestFinished(() => listener.stop())
  return listener
}

/** Everything that the browser reports: a blocked style, a blocked form, a missing file. */
function errorsOf(page: Page): string[] {
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  return errors
}

describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let browser: Browser
  let listener: Listener

  beforeAll(async () => {
    browser = await openBrowser()
    // Chromium would report a status above 399, which an error page has.
    listener = openListener({ status: 200 })
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.stop()
  })

  /** By their looks: to open one takes longer than most tests, and each begins by going to an address. */
  const pages = new Map<string, Promise<Page>>()
  const openPage = async (colorScheme: 'light' | 'dark', width: number): Promise<Page> => {
    const looks = `${colorScheme} ${width}`
    const opened =
      pages.get(looks) ?? browser.newPage({ colorScheme, viewport: { width, height: 800 } })
    pages.set(looks, opened)
    const page = await opened
    page.removeAllListeners('console')
    page.removeAllListeners('pageerror')
    return page
  }
  const show = (page: Page, name: string, language: Language, at = listener) =>
    page.goto(`${at.origin}/${encodeURIComponent(name)}?language=${language}`)

  test.each([
    // The smallest window (WCAG 1.4.10).
    ['light', 320, 'ru'] as const,
    ...(FULL ? [['dark', 1280, 'en'] as const] : []),
  ])(
    'axe finds nothing, and nothing overflows: %s at %d px in %s',
    async (scheme, width, language) => {
      const page = await openPage(scheme, width)
      const errors = errorsOf(page)
      for (const name of FULL ? STAYING : OF_EACH_PAGE) {
        await show(page, name, language)
        expect(await violationsOn(page), name).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBe(width)
      }
      expect(errors).toEqual([])
    },
    180_000,
  )

  test('signing in needs no mouse', async () => {
    const page = await openPage('light', 1280)
    await show(page, 'sign-in', 'en')
    // The page focuses the field only after it has been drawn.
    await page.waitForFunction("document.activeElement.id === 'email'")
    const order: unknown[] = []
    for (const _ of Array(4)) {
      order.push(
        await page.evaluate('document.activeElement.id || document.activeElement.textContent'),
      )
      await page.keyboard.press('Tab')
    }
    expect(order).toEqual(['email', 'Continue', 'Continue with Google', 'Continue with GitHub'])

    await page.focus('#email')
    await page.keyboard.type('mira@example.com')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/after')
    expect(listener.posted.at(-1)).toEqual({
      path: '/sign-in/i9/email',
      // With `no-referrer` it would be "null".
      origin: listener.origin,
      fields: { csrf: 'c5rf-t0ken', interaction: 'i9', email: 'mira@example.com' },
    })
  })

  test.each([
    ['consent', 'Allow', { decision: 'allow' }],
    ['consent', 'Do not allow', { decision: 'deny' }],
    ['sign-out', 'Sign out', { logout: 'yes' }],
    ['sign-out', 'Stay signed in', {}],
    ['code expired', 'Send a new code', {}],
    ['disabled', 'Use another address', {}],
  ])('%s: the button "%s" posts %j', async (name, label, sent) => {
    const page = await openPage('light', 390)
    await show(page, name, 'en')
    await page.getByRole('button', { name: label, exact: true }).click()
    await page.waitForURL('**/after')
    expect(listener.posted.at(-1)?.fields).toEqual({
      csrf: 'c5rf-t0ken',
      interaction: 'i9',
      ...sent,
    })
  })

  test('the error is announced with the field in focus', async () => {
    const page = await openPage('light', 390)
    await show(page, 'code wrong', 'en')
    const field = page.getByRole('textbox', {
      name: 'Code',
      description: 'This is not the code. 4 attempts are left.',
    })
    expect(await field.and(page.locator(':focus')).count()).toBe(1)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
  })

  test("a form may end at the page's own client, after a redirect", async () => {
    const client = listenForOneTest()
    const provider = listenForOneTest({ formTargets: [client.origin] }, () =>
      seeOther(`${client.origin}/back`),
    )
    const page = await openPage('light', 390)
    await show(page, 'consent', 'en', provider)
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.waitForURL(`${client.origin}/back`)
    expect(await page.textContent('body')).toBe('arrived')
  })

  test('a form may not end at any other site', async () => {
    const stranger = listenForOneTest()
    const provider = listenForOneTest({}, () => seeOther(`${stranger.origin}/back`))
    const page = await openPage('light', 390)
    await show(page, 'consent', 'en', provider)
    const complaint = page.waitForEvent('console', (message) =>
      message.text().includes('form-action'),
    )
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await complaint
    expect(page.url()).toContain(provider.origin)
  })

  test('a post may end where the client redirects to, when the provider answers it with a page', async () => {
    const home = listenForOneTest()
    const client = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => Response.redirect(`${home.origin}/home`, 302),
    })
    onTestFinished(() => client.stop(true))
    const back = `http://127.0.0.1:${client.port}/back?code=a&iss='b'`
    const provider = listenForOneTest({}, () =>
      pageResponse({ page: 'onward', to: back }, { language: 'en', issuer: home.origin }),
    )
    const page = await openPage('light', 390)
    const errors = errorsOf(page)
    await show(page, 'consent', 'en', provider)
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.waitForURL(`${home.origin}/home`)
    expect(errors).toEqual([])
  })

  test('no other site may frame a page', async () => {
    const frame = `<iframe src="${listener.origin}/consent"></iframe>`
    const page = await openPage('light', 390)
    const refused = page.waitForEvent('console', (message) =>
      message.text().includes('frame-ancestors'),
    )
    await page.goto(`${listener.origin}/elsewhere`)
    await page.setContent(frame)
    await refused
  })
})
