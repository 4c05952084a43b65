// A client library in another language: Authlib in a Flask application, with either method of client authentication.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPython, type Python } from '#test/support/python.ts'
import { FULL } from '#test/support/tier.ts'
import { openSigninGateway, REDIRECT, type SigninGateway } from '../signin-gateway.ts'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const INSTALL_MS = 400_000

let python: Python | string
let setup: SigninGateway | undefined

beforeAll(async () => {
  if (!FULL) return
  python = await openPython(here('requirements.txt'))
  if (typeof python === 'string') console.warn(`authlib: skipped, ${python}`)
  else setup = await openSigninGateway()
}, INSTALL_MS)
afterAll(async () => {
  await setup?.close()
  if (typeof python !== 'string') python.close()
})

/** Starts the application, and stops it at the end. */
async function withApplication(
  { authUrl, client }: SigninGateway,
  { path }: Python,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const settings = { auth_url: authUrl, redirect_uri: REDIRECT, ...client }
  const child = Bun.spawn([path, here('application.py'), JSON.stringify(settings)], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const complaints = child.stderr.text()
  try {
    let said = ''
    const decoder = new TextDecoder()
    for await (const piece of child.stdout) {
      said += decoder.decode(piece, { stream: true })
      if (said.includes('\n')) break
    }
    const port = /listening on (\d+)\n/.exec(said)?.[1]
    if (port === undefined) throw new Error(`the application did not start: ${await complaints}`)
    await work(`http://127.0.0.1:${port}`)
  } finally {
    child.kill()
    await child.exited
  }
}

test.runIf(FULL).for(['client_secret_basic', 'client_secret_post'])(
  'Authlib signs a person in with %s',
  async (method, { skip }) => {
    if (setup === undefined || typeof python === 'string') return skip()
    const provider = setup
    await withApplication(setup, python, async (url) => {
      const login = await fetch(`${url}/${method}/login`, { redirect: 'manual' })
      const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const browser = provider.browser()
      const email = `${method}@example.org`
      const start = await browser.open(login.headers.get('location') ?? '')
      const back = await provider.signIn(browser, start, email)
      expect(back.url.startsWith(REDIRECT)).toBe(true)

      const callback = `${url}/${method}/callback${new URL(back.url).search}`
      const answer = await fetch(callback, { headers: { cookie } })
      expect(answer.status).toBe(200)
      const said = { email, email_verified: true, preferred_username: email, name: method }
      expect(await answer.json()).toEqual({
        claims: expect.objectContaining({
          iss: provider.authUrl,
          aud: provider.client.client_id,
          ...said,
        }),
        userinfo: { sub: expect.stringMatching(/^usr_/), updated_at: expect.any(Number), ...said },
        scope: 'openid email profile',
      })
    })
  },
)
