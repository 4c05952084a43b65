// The cabinet in a real browser: what a person does in a month, with scripts and without, by the keyboard alone; axe on every
// screen; and nothing that the pages' own policy would have to forbid.
import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { FULL } from '#test/support/tier.ts'
import { type House, openHouse } from './house.ts'

const SCREENS = [
  '',
  '/keys',
  '/keys/new',
  '/activity',
  '/spend',
  '/balance',
  '/models',
  '/models/demo/echo',
  '/people',
  '/you',
]

interface Look {
  readonly locale: 'en-GB' | 'ru-RU'
  readonly width: 390 | 1280
  readonly colorScheme: 'light' | 'dark'
  readonly javaScriptEnabled: boolean
}

const ALL: readonly Look[] = (['en-GB', 'ru-RU'] as const).flatMap((locale) =>
  ([390, 1280] as const).flatMap((width) =>
    (['light', 'dark'] as const).flatMap((colorScheme) =>
      [true, false].map((javaScriptEnabled) => ({ locale, width, colorScheme, javaScriptEnabled })),
    ),
  ),
)

/** Each value of each property once. */
const SOME: readonly Look[] = [
  { locale: 'ru-RU', width: 390, colorScheme: 'light', javaScriptEnabled: true },
  { locale: 'en-GB', width: 1280, colorScheme: 'dark', javaScriptEnabled: false },
]

const LOOKS = FULL ? ALL : SOME
const saying = ({ locale, width, colorScheme, javaScriptEnabled }: Look): string =>
  `${locale} ${width} ${colorScheme} ${javaScriptEnabled ? 'with' : 'without'} scripts`

describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let browser: Browser
  let house: House

  beforeAll(async () => {
    browser = await openBrowser()
    house = await openHouse()
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })

  /** A browser in which this owner is signed in. */
  async function open(
    look: Look,
  ): Promise<{ context: BrowserContext; page: Page; errors: string[] }> {
    const { locale, width, colorScheme, javaScriptEnabled } = look
    const { browser: signedIn } = await house.person(
      `p-${crypto.randomUUID().slice(0, 8)}@example.org`,
      'owner',
    )
    const viewport = { width, height: 900 }
    const context = await browser.newContext({ locale, viewport, colorScheme, javaScriptEnabled })
    onTestFinished(() => context.close())
    const { hostname } = new URL(house.authUrl)
    await context.addCookies(
      [...signedIn.cookies]
        .filter(([, value]) => value !== '')
        .map(([name, value]) => ({ name, value, domain: hostname, path: '/' })),
    )
    const page = await context.newPage()
    const errors: string[] = []
    page.on('console', (message) => {
      const isExpected = /status of 4\d\d/.test(message.text())
      if (message.type() === 'error' && !isExpected) errors.push(`${page.url()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => errors.push(error.message))
    return { context, page, errors }
  }

  const goTo = (page: Page, path: string) => page.goto(`${house.authUrl}/cabinet${path}`)

  async function keep(page: Page, name: string, look: Look): Promise<void> {
    const directory = process.env['GATEWAYCTL_SCREENSHOTS']
    if (directory === undefined) return
    const { locale, width, colorScheme } = look
    const file = `cabinet-${name}-${locale.slice(0, 2)}-${width}-${colorScheme}.png`
    await page.screenshot({ path: `${directory}/${file}`, fullPage: true })
  }

  const secretOf = async (page: Page): Promise<string> => (await page.textContent('#secret')) ?? ''

  const request = (secret: string) =>
    fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        model: 'demo/echo',
        user: 'u_204',
        messages: [{ role: 'user', content: 'hi' }],
      }),
    }).then(async (answer) => ({ status: answer.status, text: await answer.text() }))

  test.each(LOOKS.map((look) => [saying(look), look] as const))(
    'a month of a person, %s',
    async (_, look) => {
      const { page, errors } = await open(look)
      const name = `web-${crypto.randomUUID().slice(0, 6)}`
      await goTo(page, '/keys/new')
      await page.fill('#name', name)
      await page.fill('#rpm_limit', '20')
      await page.click('.lead-button')
      await page.waitForURL('**/secret')
      const secret = await secretOf(page)
      expect(secret).toMatch(/^if-/)
      await keep(page, 'secret', look)
      expect((await request(secret)).status).toBe(200)
      await goTo(page, `/activity?key=${name}`)
      expect(await page.locator('tbody tr').count()).toBe(1)
      await page.click('tbody tr th a')
      await page.waitForSelector('.figures')
      await keep(page, 'receipt', look)

      await goTo(page, `/keys?find=${name}`)
      await page.click(`tbody a:has-text("${name}")`)
      await page.waitForURL('**/keys/key_*')
      await page.fill('#rpm_limit', '1')
      await page.click('form[action$="/limits"] button')
      await page.waitForURL('**saved=1')
      await request(secret)
      expect((await request(secret)).status).toBe(429)
      await goTo(page, `/activity?key=${name}&status=429`)
      await page.click('tbody tr th a')
      await page.waitForSelector('.problem')
      await page.click('a[href^="/cabinet/keys/key_"] >> nth=0')
      await page.waitForSelector('#rpm_limit')
      const key = new URL(page.url()).pathname

      await goTo(page, '/balance')
      await page.fill('#below', '3')
      await page.fill('#email', 'ops@example.org')
      await page.click('form[action$="/threshold"] button')
      await page.waitForURL('**saved=1')

      await page.goto(house.authUrl + key)
      await page.click('form[action$="/rotate"] button')
      await page.waitForURL('**/secret')
      const second = await secretOf(page)
      expect(second).not.toBe(secret)
      await page.reload()
      expect(await page.locator('#secret').count()).toBe(0)
      await page.goto(house.authUrl + key)
      await page.click('form[action$="/revoke"] button')
      await page.waitForURL('**saved=1')
      expect((await request(second)).status).toBe(401)

      for (const path of SCREENS) {
        await goTo(page, path)
        const width = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect([path, width <= look.width]).toEqual([path, true])
        await keep(page, path.replaceAll('/', '-') || 'overview', look)
      }
      expect(errors).toEqual([])
    },
  )

  test.each(
    (FULL ? ALL.filter((look) => look.javaScriptEnabled) : SOME).map(
      (look) => [saying(look), look] as const,
    ),
  )('axe finds nothing on any screen, %s', async (_, look) => {
    const { page } = await open({ ...look, javaScriptEnabled: true })
    await house.act('keys.create', {
      name: `axe-${crypto.randomUUID().slice(0, 6)}`,
      daily_spend_limit_usd: '5',
    })
    for (const path of SCREENS) {
      await goTo(page, path)
      await page.evaluate(axe.source)
      const found = await page.evaluate(async () => {
        const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
      })
      expect([path, found]).toEqual([path, []])
    }
  })

  test('by the keyboard alone a key is made, and focus is seen', async () => {
    const { page } = await open({
      locale: 'en-GB',
      width: 1280,
      colorScheme: 'light',
      javaScriptEnabled: true,
    })
    await goTo(page, '/keys')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/keys/new')
    await page.waitForSelector('#name:focus')
    await page.keyboard.type('by keyboard')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/secret')
    expect(await secretOf(page)).toMatch(/^if-/)
  })

  test('figures live, and a model answers word by word with its cost', async () => {
    const { page, errors } = await open({
      locale: 'en-GB',
      width: 1280,
      colorScheme: 'light',
      javaScriptEnabled: true,
    })
    await goTo(page, '')
    const balance = () => page.textContent('[data-figure="balance"]')
    const before = await balance()
    const { key } = await house.act('keys.create', { name: 'live' })
    await request(key)
    await expect.poll(balance, { timeout: 20_000 }).not.toBe(before)
    await goTo(page, '/models/demo/echo')
    await page.fill('#prompt', 'one two three')
    await page.click('form[data-stream] button')
    const answer = () => page.textContent('#answer')
    await expect.poll(answer, { timeout: 20_000 }).toMatch(/\$[\d.]+ · .*₽/)
    expect(await answer()).toContain('one two three')
    expect(errors).toEqual([])
  })

  test('after signing out, the back button shows no page of before', async () => {
    const { page } = await open({
      locale: 'en-GB',
      width: 1280,
      colorScheme: 'light',
      javaScriptEnabled: true,
    })
    await goTo(page, '/balance')
    await goTo(page, '/keys')
    await page.click('form[action$="/sign-out"] button')
    await page.waitForSelector('input[name=email]')
    await page.goBack()
    await page.waitForSelector('input[name=email]')
    expect(await page.content()).not.toContain('prod-web')
  })
})
