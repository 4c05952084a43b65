// The operator's name, logo and colour: on every page and over every mail of the compiled program, and refused where they cannot be.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { violationsOn } from '#test/support/axe.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import { enter } from '../cabinet/enter.ts'
import { authorizeUrl, openSigninGateway, type SigninGateway, textOf } from './signin-gateway.ts'

const NAME = 'Ann & Söhne <b>'
const ESCAPED = 'Ann &amp; Söhne &lt;b&gt;'
/** Bright: as it is, nobody could read what is written in it on light pages. */
const COLOR = '#ffcc00'
const SHAPES = '<rect width="90" height="30" fill="#c00"/><script>alert(1)</script>'
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">${SHAPES}</svg>`
const SCREENSHOTS = process.env['GATEWAYCTL_SCREENSHOTS']
const LONG_MS = 120_000

const files = mkdtempSync(join(tmpdir(), 'gwctl-brand-'))
afterAll(() => rmSync(files, { recursive: true, force: true }))
const fileOf = (name: string, content: string): string => {
  const path = join(files, name)
  writeFileSync(path, content)
  return path
}

describe('a running gateway', () => {
  let setup: SigninGateway

  beforeAll(async () => {
    setup = await openSigninGateway({
      GATEWAY_BRAND_NAME: NAME,
      GATEWAY_BRAND_LOGO: fileOf('logo.svg', LOGO),
      GATEWAY_BRAND_COLOR: COLOR,
    })
  })
  afterAll(() => setup?.close())

  const address = () => authorizeUrl(setup.authUrl, setup.client.client_id)

  test('shows them on its pages, in its cabinet and over its mails', async () => {
    const browser = setup.browser()
    const form = await browser.open(address())
    for (const { text } of [form, await browser.open('/nowhere')]) {
      expect(text).toMatch(/<img class="logo" src="\/assets\/logo-\w+\.svg" alt="Ann &amp; Söhne/)
      expect(text).toMatch(/<link rel="stylesheet" href="\/assets\/brand-\w+\.css">/)
    }
    await setup.signIn(browser, form, 'ann@example.org')
    const { source = '' } = setup.mail.taken.find(({ to }) => to.includes('ann@example.org')) ?? {}
    expect(textOf(source).trim().split(/\s*\n/)[0]).toBe(NAME)

    const member = await enter(setup, 'bob@example.org')
    const cabinet = await member.open('/cabinet')
    expect(cabinet.text).toContain(` · ${ESCAPED}</title>`)
    expect(cabinet.text).not.toContain('gatewayctl</')
    const [, logo = ''] = /<img class="logo" src="([^"]+)" alt=/.exec(cabinet.text) ?? []
    const served = await fetch(setup.authUrl + logo)
    expect([served.status, served.headers.get('content-security-policy')]).toEqual([
      200,
      "default-src 'none'; sandbox",
    ])
    expect(await served.text()).toBe(LOGO)
    // The cabinet is an application of this name.
    expect((await setup.browser().open('/cabinet')).text).toContain(`<bdi>${ESCAPED}</bdi>`)
  })

  test('doctor says in which shades the colour is shown', () => {
    const { findings } = setup.cli.json<{ readonly findings: readonly Finding[] }>(['doctor'])
    const { message } = findings.find(({ check }) => check === 'brand') ?? {}
    expect(message).toMatch(
      /^Ann & Söhne <b>, with a logo; #ffcc00; as #[0-9a-f]{6} on light pages, where/,
    )
  })

  describe.runIf(CHROMIUM !== null && FULL)('in Chromium', () => {
    test.each(['light', 'dark'] as const)(
      'the logo is drawn, the colour is legible on %s pages, and the policy of the page holds',
      async (colorScheme) => {
        const browser = await openBrowser()
        onTestFinished(() => browser.close())
        const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 800 } })
        const errors: string[] = []
        page.on('console', (message) => void errors.push(message.text()))
        page.on('dialog', (dialog) => void errors.push(dialog.message()))
        await page.goto(address())
        const width = () => page.evaluate<number>("document.querySelector('img.logo').clientWidth")
        expect(await width()).toBeGreaterThan(60)
        const shown = await page.evaluate(
          "getComputedStyle(document.querySelector('.lead-button')).backgroundColor",
        )
        expect(shown === 'rgb(255, 204, 0)').toBe(colorScheme === 'dark')
        expect(await violationsOn(page)).toEqual([])
        if (SCREENSHOTS !== undefined) {
          mkdirSync(SCREENSHOTS, { recursive: true })
          await page.screenshot({ path: join(SCREENSHOTS, `brand-${colorScheme}.png`) })
        }
        // Opened by itself, its script does not run.
        const logo = await page.locator('img.logo').getAttribute('src')
        expect(errors).toEqual([])
        await page.goto(setup.authUrl + logo)
        expect(errors.every((one) => /blocked|sandbox/i.test(one))).toBe(true)
      },
      LONG_MS,
    )
  })
})

interface Finding {
  readonly check: string
  readonly message: string
}

describe('the configuration', () => {
  const big = fileOf('big.png', `\x89PNG\r\n\x1a\n${'x'.repeat(256 * 1024)}`)
  const page = fileOf('page.svg', '<!doctype html><title>no logo</title>')
  const logo = fileOf('fine.svg', LOGO)

  test.each([
    [`name = ""`, 'brand.name must be one line of 1 to 60 characters'],
    [`name = "${'x'.repeat(61)}"`, 'brand.name must be one line of 1 to 60 characters'],
    [`name = "a\\nb"`, 'brand.name must be one line of 1 to 60 characters'],
    [`color = "red"`, 'brand.color must be a colour such as #1f544b (got "red")'],
    [`logo = "${logo}"`, 'brand.logo needs a name too'],
    [`name = "A"\nlogo = "${big}"`, 'brand.logo must be at most 256 KiB'],
    [`name = "A"\nlogo = "${page}"`, 'brand.logo must be a PNG, JPEG, WebP or SVG image'],
    [`name = "A"\nlogo = "${files}"`, 'it is no file'],
    [`name = "A"\nlogo = "${files}/none.png"`, `cannot read ${files}/none.png (brand.logo)`],
    [`colour = "#123456"`, 'did you mean brand.color?'],
  ])('refuses %s', (text, said) => {
    const cli = openCli()
    onTestFinished(() => cli.close())
    const file = fileOf('config.toml', `[brand]\n${text}\n`)
    const { code, err } = cli.run(['config', 'check', file])
    expect([code, err]).toEqual([code === 1 ? 1 : 2, expect.stringContaining(said)])
    const served = cli.run(['serve', '--config', file])
    expect([served.code, served.err]).toEqual([code, expect.stringContaining(said)])
  })

  test('takes a logo, and shows where it comes from', () => {
    const cli = openCli()
    onTestFinished(() => cli.close())
    const file = fileOf('good.toml', `[brand]\nname = "A"\nlogo = "${logo}"\ncolor = "#abc"\n`)
    expect(cli.run(['config', 'check', file]).code).toBe(0)
    const shown = cli.json<readonly object[]>(['config', 'show', '--origin', '--config', file])
    expect(shown).toContainEqual({ name: 'brand.logo', value: logo, origin: file })
  })
})
