// A revocation while a session, its refresh tokens and its codes are in use: what was issued before it is never valid again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import type { Browser } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

const ROUNDS = FULL ? 50 : 2
/** Rounds at a time. */
const LANES = 5

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const refresh = (token: string): Promise<Response> =>
  fetch(`${setup.authUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: token,
      ...setup.client,
    }),
  })

/** A browser in which somebody signed in for an application that refreshes its tokens. */
async function signedIn(email: string, network: string) {
  const browser = setup.browser({ 'x-forwarded-for': network })
  const start = await browser.open(
    authorizeUrl(setup.authUrl, setup.client.client_id, {
      scope: 'openid email offline_access',
      prompt: 'consent',
    }),
  )
  const asked = await setup.signIn(browser, start, email)
  const back = await browser.submit(asked, '/consent', { decision: 'allow' })
  const tokens = await redeem(setup.authUrl, setup.client, codeOf(back))
  return { browser, tokens: (await tokens.json()) as Tokens }
}

/** A code by the browser's cookie alone; empty where nobody is signed in. */
const silently = async (browser: Browser): Promise<string> =>
  codeOf(
    await browser.open(
      authorizeUrl(setup.authUrl, setup.client.client_id, { prompt: 'none', scope: 'openid' }),
    ),
  )

/** Repeats `use` until it fails, or `isOver`; what the last success returned stays in `latest`. */
function inUse<What>(first: What, use: (latest: What) => Promise<What | null>) {
  let isOver = false
  const loop = {
    latest: first,
    uses: 0,
    async end(): Promise<void> {
      isOver = true
      await done
    },
  }
  const repeat = async (): Promise<void> => {
    while (!isOver) {
      const next = await use(loop.latest)
      if (next === null) return
      loop.latest = next
      loop.uses += 1
    }
  }
  const done = repeat()
  return loop
}

/** Ends all that somebody has while it is in use; returns what is accepted of it after that. */
async function survivorsOf(email: string, network: string, end: () => Promise<unknown>) {
  const { browser, tokens } = await signedIn(email, network)
  const another = setup.browser({ cookie: cookieOf(browser) })
  const cookies = [browser, another].map((one) =>
    inUse('', async () => (await silently(one)) || null),
  )
  const refreshes = inUse(tokens, async ({ refresh_token }) => {
    const answer = await refresh(refresh_token)
    return answer.ok ? ((await answer.json()) as Tokens) : null
  })
  const loops = [...cookies, refreshes]
  await until(() => loops.every(({ uses }) => uses >= 2), 'all of it is in use')
  await end()
  const next = await silently(setup.browser({ cookie: cookieOf(browser) }))
  await Promise.all(loops.map((loop) => loop.end()))
  const codes = await Promise.all(
    cookies.map(({ latest }) => redeem(setup.authUrl, setup.client, latest)),
  )
  const userinfo = await fetch(`${setup.authUrl}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${refreshes.latest.access_token}` },
  })
  return [
    ...(next === '' ? [] : ['the next request with the cookie']),
    ...((await silently(browser)) === '' ? [] : ['the cookie']),
    ...(codes.some(({ ok }) => ok) ? ['a code'] : []),
    ...(userinfo.ok ? ['an access token'] : []),
    ...((await refresh(refreshes.latest.refresh_token)).ok ? ['a refresh token'] : []),
  ]
}

const cookieOf = ({ cookies }: Browser): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

const endings = {
  async 'users sessions revoke'(person: string) {
    await setup.appliance.verb('users.sessions.revoke', { person })
  },
  async 'users disable and enable'(person: string) {
    await setup.appliance.verb('users.disable', { person })
    await setup.appliance.verb('users.enable', { person })
  },
}

test.each(Object.entries(endings))(
  `T10: ${ROUNDS} times, nothing that is in use survives %s`,
  { timeout: 120_000 },
  async (_what, end) => {
    const rounds = Array.from({ length: ROUNDS }, (_, round) => round).values()
    const survivors: string[] = []
    const lane = async (): Promise<void> => {
      for (const round of rounds) {
        const email = `round-${round}@example.org`
        survivors.push(...(await survivorsOf(email, `198.51.100.${round}`, () => end(email))))
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(survivors).toEqual([])
  },
)
