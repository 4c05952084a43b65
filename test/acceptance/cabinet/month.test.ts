// A month of a person in the cabinet, on the compiled binary in a real browser: invited by mail, signed in by a mailed code, a key
// and its first request, a limit that refuses and what lifts it, a notice by mail and webhook, a new secret, and the end of the key.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '#cabinet/routes.ts'
import { WORDS } from '#cabinet/words/words.ts'
import { until } from '#test/support/appliance.ts'
import { violationsOn } from '#test/support/axe.ts'
import { CHROMIUM, openBrowser } from '#test/support/browser.ts'
import { openReceiver, type Receiver, verify } from '#test/support/receiver.ts'
import { FULL } from '#test/support/tier.ts'
import { openSigninGateway, type SigninGateway, textOf } from '../signin/signin-gateway.ts'
import { BY_KEYBOARD, BY_MOUSE, type Hands } from './hands.ts'
import { describeLook, LOOKS, type Look, PLAIN } from './looks.ts'

/** If set, a directory where a screenshot of each screen is saved for review. */
const SCREENSHOTS = process.env['GATEWAYCTL_SCREENSHOTS']
const MAX_MS = 60_000

describe.skipIf(CHROMIUM === null)('in Chromium', () => {
  let setup: SigninGateway
  let browser: Browser
  let receiver: Receiver

  beforeAll(async () => {
    receiver = openReceiver(() => new Response(null, { status: 204 }))
    ;[setup, browser] = await Promise.all([
      openSigninGateway({ GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' }),
      openBrowser(),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await setup?.close()
    await receiver?.close()
  })

  /** A page that looks so, and what it complained of. */
  async function open(look: Look): Promise<{ page: Page; complaints: string[] }> {
    const { width, ...options } = look
    // A colour in transition has no meaningful contrast.
    const context = await browser.newContext({
      ...options,
      viewport: { width, height: 900 },
      reducedMotion: 'reduce',
    })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(MAX_MS)
    const complaints: string[] = []
    page.on('console', (message) => {
      const isExpected = /status of 4\d\d/.test(message.text())
      if (message.type() === 'error' && !isExpected) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    return { page, complaints }
  }

  const mailTo = async (email: string, count = 1): Promise<string> => {
    const mails = () => setup.mail.taken.filter(({ to }) => to.includes(email))
    await until(() => mails().length >= count, `a mail reached ${email}`, MAX_MS)
    return textOf(mails().at(-1)?.source ?? '')
  }

  const ask = async (key: string): Promise<number> => {
    const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
    const answer = await setup.appliance.chat(key, body)
    await answer.arrayBuffer()
    return answer.status
  }

  /** As pasted into a terminal. */
  const paste = async (text: string): Promise<string> => {
    const shell = Bun.spawn(['bash', '-eu', '-c', text], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdin: 'ignore',
      stderr: 'inherit',
    })
    return await shell.stdout.text()
  }

  /** An account with $5, and an owner of it who has been invited and knows nothing else. */
  async function begin(name: string) {
    const email = `${name}@example.org`
    const account = `acme-${name}`
    await setup.appliance.verb('accounts.create', { name: account })
    await setup.appliance.verb('balance.top-up', { account, amount_usd: '5' })
    await setup.appliance.verb('accounts.members.add', { account, email, role: 'owner' })
    const invitation = await mailTo(email)
    expect(invitation).toContain(account)
    const address = /https?:\/\/\S+\/cabinet/.exec(invitation)?.[0] ?? ''
    return { email, account, address, mails: 1 }
  }

  /** In another browser: what the mail leads to, for somebody who belongs to another account. */
  async function accept(hands: Hands, look: Look, colleague: Invited): Promise<void> {
    const { page, complaints } = await open(look)
    await writeCode(hands, page, colleague)
    await page.waitForURL('**/cabinet/invitations')
    expect(await page.textContent('main')).toContain(colleague.account)
    if (look.javaScriptEnabled) expect(await violationsOn(page)).toEqual([])
    await keep(page, 'invitations', look)
    await hands.press(page, 'form[action$="/accept"] button')
    await page.waitForURL(`${setup.authUrl}/cabinet`)
    expect(await page.textContent('.account')).toContain(colleague.account)
    expect(complaints).toEqual([])
  }

  async function signIn(hands: Hands, page: Page, invited: Invited): Promise<void> {
    await writeCode(hands, page, invited)
    await page.waitForURL(`${setup.authUrl}/cabinet`)
    await page.waitForSelector('[data-figure="balance"]')
  }

  async function writeCode(
    hands: Hands,
    page: Page,
    { email, address, mails }: Invited,
  ): Promise<void> {
    await page.goto(address)
    await hands.write(page, 'input[name=email]', email)
    await hands.press(page, 'form[action$="/email"] button')
    await hands.write(page, 'input[name=code]', await setup.codeFor(email, mails + 1))
    await hands.press(page, 'form[action$="/code"] button')
  }

  type Invited = Awaited<ReturnType<typeof begin>>

  /** What a month leaves to look at. */
  interface Left {
    readonly key: string
    readonly request: string
    readonly person: string
  }

  async function live(hands: Hands, page: Page, look: Look, invited: Invited): Promise<Left> {
    const words = WORDS[look.locale === 'ru-RU' ? 'ru' : 'en']
    const to = async (screen: string): Promise<void> => {
      await hands.press(page, `nav a[href="/cabinet/${screen}"]`)
      await page.waitForURL(`**/cabinet/${screen}`)
      await page.waitForSelector(`nav a[href="/cabinet/${screen}"][aria-current]`)
    }
    const textOn = async (what: string): Promise<string> =>
      (await page.locator(what).first().textContent({ timeout: MAX_MS })) ?? ''

    await signIn(hands, page, invited)
    expect(await page.evaluate('document.documentElement.lang')).toBe(look.locale.slice(0, 2))
    expect(await textOn('[data-figure="balance"]')).toBe('$5.00')
    await keep(page, 'first', look)

    await to('keys')
    await hands.press(page, 'main a[href="/cabinet/keys/new"]')
    await hands.write(page, '#name', 'web')
    await hands.write(page, '#rpm_limit', '20')
    await hands.press(page, 'form[action$="/keys/new"] button[type=submit]')
    await page.waitForURL('**/secret')
    const secret = await textOn('#secret')
    expect(secret).toMatch(/^if-/)
    await keep(page, 'secret', look)
    const answer = JSON.parse(await paste(await textOn('#snippet-0')))
    expect(answer.usage.cost).toBeGreaterThan(0)

    // It is there as soon as somebody looks: the answer's last byte came after its line in the log.
    await to('activity')
    expect(await page.locator('tbody tr').count()).toBe(1)
    await hands.press(page, 'tbody th a')
    await page.waitForSelector('main .figures')
    const request = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    expect(request).toBe(answer.id)
    await keep(page, 'receipt', look)
    await hands.press(page, 'main a[href^="/cabinet/keys/key_"]')
    const changeLimit = async (limit: string): Promise<void> => {
      await page.waitForURL('**/cabinet/keys/key_*')
      await hands.write(page, '#rpm_limit', limit)
      await hands.press(page, 'form[action$="/limits"] button[type=submit]')
      await page.waitForURL('**saved=1')
      expect(await textOn('[role=status]')).toBe(words.keys.saved)
    }
    await changeLimit('1')
    expect(await ask(secret)).toBe(429)

    await to('activity')
    await hands.press(page, 'tbody th a')
    expect(await textOn('main .problem')).toBe(words.codes.rate_limit_exceeded)
    expect(await textOn('main .facts')).toContain(`${words.keys.fields['rpm_limit']}: 1`)
    expect(await textOn('main')).toContain(words.receipt.raise)
    await keep(page, 'refusal', look)
    await hands.press(page, 'main a[href^="/cabinet/keys/key_"]')
    await changeLimit('60')
    expect(await ask(secret)).toBe(200)
    const key = new URL(page.url()).pathname.split('/').at(-1) ?? ''

    await to('balance')
    await hands.write(page, '#below', '100')
    await hands.write(page, '#email', `ops-${invited.email}`)
    await hands.write(page, '#webhook', `${receiver.url}/${invited.account}`)
    await hands.press(page, 'form[action$="/threshold"] button[type=submit]')
    await page.waitForURL('**/balance/secret')
    const signing = await textOn('#secret')
    expect(await ask(secret)).toBe(200)
    expect(await mailTo(`ops-${invited.email}`)).toContain('100')
    const hooks = () => receiver.received.filter(({ path }) => path === `/${invited.account}`)
    await until(() => hooks().length > 0, 'the webhook has come', MAX_MS)
    for (const hook of hooks()) {
      expect(verify(signing, hook)).toMatchObject({
        type: 'gateway.low_balance',
        data: { threshold_usd: '100.00' },
      })
    }
    await hands.press(page, 'main a.button[href="/cabinet/balance"]')
    await page.waitForURL('**/cabinet/balance')
    const delivered = async () => {
      await page.reload()
      const told = page.locator('.state.ok', { hasText: words.balance.states['delivered'] ?? '' })
      return (await told.count()) === 2
    }
    await until(delivered, 'both deliveries are told', MAX_MS)
    await keep(page, 'delivered', look)

    await to('keys')
    await hands.press(page, `tbody a[href="/cabinet/keys/${key}"]`)
    await page.waitForURL(`**/keys/${key}`)
    await hands.press(page, 'form[action$="/rotate"] button[type=submit]')
    await page.waitForURL('**/secret')
    const second = await textOn('#secret')
    expect(second).not.toBe(secret)
    expect([await ask(secret), await ask(second)]).toEqual([200, 200])
    await page.reload()
    expect(await page.locator('#secret').count()).toBe(0)
    await hands.press(page, `main a.button[href="/cabinet/keys/${key}"]`)
    await page.waitForURL(`**/keys/${key}`)
    await hands.press(page, 'a[href$="/revoke"]')
    await page.waitForURL('**/revoke')
    await hands.press(page, 'form[action$="/revoke"] button[type=submit]')
    await page.waitForURL('**saved=1')
    expect([await ask(secret), await ask(second)]).toEqual([401, 401])

    await to('people')
    const colleague = `mate-of-${invited.email}`
    const elsewhere = { account: 'default', email: colleague, role: 'viewer' } as const
    await setup.appliance.verb('accounts.members.add', elsewhere)
    await hands.write(page, '#email', colleague)
    await hands.press(page, 'form[action="/cabinet/people"] button[type=submit]')
    await page.waitForURL('**invited=*')
    expect(await textOn('[role=status]')).toBe(words.people.invitedMailed(colleague))
    const letter = await mailTo(colleague, 2)
    expect(letter).toContain(invited.email)
    const address = /https?:\/\/\S+\/cabinet\/invitations/.exec(letter)?.[0] ?? ''
    await accept(hands, look, { ...invited, email: colleague, address, mails: 2 })
    const members = await setup.appliance.verb('accounts.members.list', {
      account: invited.account,
    })
    const person = members.find(({ email }) => email === colleague)?.id ?? ''
    return { key, request, person }
  }

  /** Every address that shows a screen: a new one is looked at too. */
  const screensWith = (left: Left): readonly string[] =>
    ROUTES.filter(({ method, path }) => method === 'GET' && !/\.csv$|\/live$/.test(path)).map(
      ({ path }) =>
        path
          .replace(':key', left.key)
          .replace(':id', left.request)
          .replace(':person', left.person)
          .replace(':provider/:model{.+}', 'demo/echo')
          .replace(':provider', 'none'),
    )

  async function lookAtAll(page: Page, look: Look, left: Left): Promise<void> {
    const found: string[] = []
    for (const path of screensWith(left)) {
      await page.goto(setup.authUrl + path)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (width > look.width) found.push(`${path} is ${width} wide`)
      for (const violation of await violationsOn(page)) found.push(`${path}: ${violation}`)
      const name = path.replace(/(?:key|gen|usr)[_-]\w+/, 'one').replaceAll('/', '-')
      await keep(page, name.replace(/^-cabinet-?/, '') || 'overview', look)
    }
    expect(found).toEqual([])
  }

  test.each(LOOKS.map((look, place) => [describeLook(look), look, place] as const))(
    'a month of a person: %s',
    async (_, look, place) => {
      const { page, complaints } = await open(look)
      const invited = await begin(`ann-${place}`)
      const left = await live(BY_MOUSE, page, look, invited)
      // Without scripts they are the same, and axe is one.
      if (look.javaScriptEnabled) await lookAtAll(page, look, left)
      await page.locator('form[action$="/sign-out"] button').click()
      await page.waitForSelector('input[name=email]')
      expect(complaints).toEqual([])
    },
    300_000,
  )

  test
    .runIf(FULL)
    .each([true, false].map((javaScriptEnabled) => ({ ...PLAIN, javaScriptEnabled })))(
    'the same by the keyboard alone, which shows where it is: scripts $javaScriptEnabled',
    async (look) => {
      const { page, complaints } = await open(look)
      await live(BY_KEYBOARD, page, look, await begin(`kim-${look.javaScriptEnabled}`))
      expect(complaints).toEqual([])
    },
    300_000,
  )
})

async function keep(page: Page, name: string, look: Look): Promise<void> {
  if (SCREENSHOTS === undefined) return
  const { locale, width, colorScheme } = look
  const file = `cabinet-${name}-${locale.slice(0, 2)}-${width}-${colorScheme}.png`
  await page.screenshot({ path: `${SCREENSHOTS}/${file}`, fullPage: true })
}
