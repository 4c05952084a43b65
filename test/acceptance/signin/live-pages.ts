/** Every page of the sign-in provider as the running program serves it, in the order in which one person meets them. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { authorizeUrl, type RegisteredClient, type SigninGateway } from './signin-gateway.ts'

/** Called with each page while it is shown. */
export type Look = (name: string, page: Page) => Promise<void>

export interface Walk {
  readonly setup: SigninGateway
  readonly client: RegisteredClient
  /** The client's callback, a page of its own. */
  readonly back: string
  readonly page: Page
  /** An address that nobody else in this test uses. */
  readonly email: string
  readonly look: Look
}

/** Waits for the next page; clicks the first button whose form's action ends with this. */
export async function press(page: Page, ending: string): Promise<void> {
  await Promise.all([
    page.waitForNavigation(),
    page.locator(`form[action$="${ending}"] button`).first().click(),
  ])
}

async function fill(page: Page, field: string, text: string, ending: string): Promise<void> {
  await page.fill(`input[name=${field}]`, text)
  await press(page, ending)
}

export const start = (
  { setup, client, back, page }: Walk,
  more: Readonly<Record<string, string | null>> = {},
) => page.goto(authorizeUrl(setup.authUrl, client.client_id, { redirect_uri: back, ...more }))

/** Eight digits that are not the code. */
const wrong = (code: string): string => String((Number(code) + 1) % 10 ** 8).padStart(8, '0')

/** Address, code, wrong code, too many attempts, an expired code, a disabled person. */
export async function walkCodes(walk: Walk): Promise<void> {
  const { setup, page, email, look } = walk
  await start(walk, { login_hint: email })
  await look('address', page)
  await fill(page, 'email', 'somebody@127.0.0.1', '/email')
  await look('address-unreadable', page)
  await fill(page, 'email', email, '/email')
  await look('code', page)
  const code = await setup.codeFor(email)
  await fill(page, 'code', '12 34', '/code')
  await look('code-unreadable', page)
  await fill(page, 'code', wrong(code), '/code')
  await look('code-wrong', page)
  for (let n = 0; n < 4; n++) await fill(page, 'code', wrong(code), '/code')
  await look('code-spent', page)
  await press(page, '/resend')
  await look('code-sent-again', page)
  change(setup, 'UPDATE mail_codes SET expires_at = 1 WHERE email = ?', email)
  await fill(page, 'code', wrong(code), '/code')
  await look('code-expired', page)
  for (let n = 0; n < 3; n++) await press(page, '/resend')
  await press(page, '/resend')
  await look('code-too-many', page)
  await start(walk)
  await fill(page, 'email', email, '/email')
  await look('address-too-many', page)
}

/** The code of a device: unknown, confirmed, done, and denied. */
export async function walkDevice({ setup, page, email, look }: Walk): Promise<void> {
  const { client_id } = setup.cli.json<RegisteredClient>([
    ...['clients', 'create', `Television of ${email}`, '--public', '--device'],
  ])
  const started = async (): Promise<string> => {
    const answer = await fetch(`${setup.authUrl}/oauth/device`, {
      method: 'POST',
      body: new URLSearchParams({ client_id, scope: 'openid email' }),
    })
    return ((await answer.json()) as { readonly user_code: string }).user_code
  }
  await page.goto(`${setup.authUrl}/device`)
  await look('device', page)
  await fill(page, 'user_code', 'BBBB-BBBB', '/device')
  await look('device-unknown', page)
  await fill(page, 'user_code', await started(), '/device')
  await look('device-confirm', page)
  await press(page, '/device')
  await fill(page, 'email', email, '/email')
  await fill(page, 'code', await setup.codeFor(email), '/code')
  await press(page, '/consent')
  await look('device-done', page)
  await page.goto(`${setup.authUrl}/device?user_code=${await started()}`)
  await look('device-confirm-known', page)
  await Promise.all([page.waitForNavigation(), page.locator('button[name=abort]').click()])
  await look('device-denied', page)
}

/** Consent, signing out, and being disabled. */
export async function walkSession(walk: Walk): Promise<void> {
  const { setup, page, email, look } = walk
  await start(walk, { prompt: 'consent', scope: 'openid email profile offline_access' })
  await fill(page, 'email', email, '/email')
  await fill(page, 'code', await setup.codeFor(email), '/code')
  await look('consent', page)
  await press(page, '/consent')
  // The page of ours that answers the form leads on by itself.
  await page.waitForURL(/\/callback\?/)
  const logout = `${setup.authUrl}/oauth/logout?client_id=${walk.client.client_id}`
  await page.goto(logout)
  await Promise.all([page.waitForNavigation(), page.locator('button:not([name])').click()])
  await look('stayed', page)
  await page.goto(logout)
  await look('sign-out', page)
  await press(page, '/oauth/logout/confirm')
  await look('signed-out', page)
  setup.cli.json(['users', 'disable', email, '--yes'])
  await start(walk)
  await fill(page, 'email', email, '/email')
  await fill(page, 'code', await setup.codeFor(email, 2), '/code')
  await look('disabled', page)
}

/** Errors that are shown on a page because they may not be sent to the client. */
export async function walkErrors(walk: Walk, context: BrowserContext): Promise<void> {
  const { setup, client, back, page, look } = walk
  const at = setup.authUrl
  await page.goto(authorizeUrl(at, 'nobody_123456'))
  await look('unknown-client', page)
  const elsewhere = { redirect_uri: `${back}/elsewhere` }
  await page.goto(authorizeUrl(at, client.client_id, elsewhere))
  await look('unregistered-redirect', page)
  await page.goto(authorizeUrl(at, client.client_id, { redirect_uri: null }))
  await look('bad-request', page)
  await page.goto(`${at}/nowhere`)
  await look('not-found', page)
  await start(walk)
  const interaction = page.url()
  await context.clearCookies()
  await page.goto(interaction)
  await look('other-browser', page)
  await start(walk)
  change(setup, "DELETE FROM artifacts WHERE kind = 'Interaction'")
  await page.reload()
  await look('expired', page)
  await start(walk)
  change(setup, "UPDATE artifacts SET payload = '{}' WHERE kind = 'Interaction'")
  await page.reload()
  await look('failed', page)
  for (let n = 0; n < 100; n++) await context.request.get(`${at}/oauth/logout`)
  await start(walk)
  await look('too-many-requests', page)
}

/** Writes into the running program's database what otherwise only time or a defect would. */
function change({ cli }: SigninGateway, sql: string, ...values: string[]): void {
  const database = new Database(join(cli.dataDir, 'gateway.db'), { strict: true })
  try {
    database.run('PRAGMA busy_timeout = 5000')
    database.query(sql).run(...values)
  } finally {
    database.close()
  }
}
