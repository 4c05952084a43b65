// Two nodes over one PostgreSQL sign in as one provider: what a person begins at one goes on at the other, and what ends at one has ended.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { BINARY } from '#scripts/compile.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'
import { enter } from '../cabinet/enter.ts'
import { findForm } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  type RegisteredClient,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  const cluster = clusterForAll(bin)
  let setup: SigninGateway
  let address: Address

  beforeAll(async () => {
    address = await cluster.create()
    const cli = openCli(BINARY, {
      GATEWAY_STORE: storeText(address),
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    })
    setup = await openSigninGateway({}, { cli, nodes: 2 })
  })
  afterAll(async () => {
    await setup?.close()
  })
  beforeEach(() => setup.appliance.pin(null))

  const at = (node: 0 | 1) => setup.appliance.pin(node)
  const tokenOf = async (client: RegisteredClient, code: string) => {
    const answer = await redeem(setup.authUrl, client, code)
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { readonly access_token: string }).access_token
  }
  const userinfo = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${setup.authUrl}/oauth/userinfo`, { headers })).status
  }

  test('a code that one was asked for is one mail, and is entered at the other, once', async () => {
    const { authUrl, client, mail, codeFor } = setup
    const email = 'ann@example.org'
    const browser = setup.browser()
    at(0)
    const start = await browser.open(authorizeUrl(authUrl, client.client_id))
    const asked = await browser.submit(start, '/email', { email })
    const code = await codeFor(email)
    at(1)
    const back = await browser.submit(asked, '/code', { code })
    expect(codeOf(back)).toMatch(/^[\w-]{43}$/)
    at(0)
    const token = await tokenOf(client, codeOf(back))
    at(1)
    expect(await userinfo(token)).toBe(200)
    expect((await redeem(authUrl, client, codeOf(back))).status).toBe(400)
    // A code that comes again was stolen.
    at(0)
    expect(await userinfo(token)).toBe(401)
    expect(mail.taken.filter(({ to }) => to.includes(email))).toHaveLength(1)
  })

  // The smaller tier asks it of two over one store in this process (test/signin/nodes.test.ts).
  test.runIf(FULL)(
    'seven applications that one browser opens at once get seven tokens',
    async () => {
      const { authUrl } = setup
      const clients = Array.from({ length: 7 }, (_, nth) => setup.register(`App ${nth}`))
      const browser = setup.browser()
      const start = await browser.open(authorizeUrl(authUrl, setup.client.client_id))
      await setup.signIn(browser, start, 'bob@example.org')
      const tokens = await Promise.all(
        clients.map(async (client) => {
          const back = await browser.open(authorizeUrl(authUrl, client.client_id))
          return await tokenOf(client, codeOf(back))
        }),
      )
      expect(new Set(tokens).size).toBe(7)
      for (const token of tokens) expect(await userinfo(token)).toBe(200)
    },
  )

  test('a revocation, and the block of a person, at one hold from the next request at the other', async () => {
    const { authUrl, cli } = setup
    const [gone, kept] = [setup.register('Gone'), setup.register('Kept')]
    const browser = setup.browser()
    const first = await browser.open(authorizeUrl(authUrl, gone.client_id))
    const one = await tokenOf(gone, codeOf(await setup.signIn(browser, first, 'cy@example.org')))
    const again = await browser.open(authorizeUrl(authUrl, kept.client_id))
    const other = await tokenOf(kept, codeOf(again))
    at(0)
    const revoked = await fetch(`${authUrl}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: one, ...gone }),
    })
    expect(revoked.status).toBe(200)
    at(1)
    expect([await userinfo(one), await userinfo(other)]).toEqual([401, 200])
    // By the command line, which is at neither.
    expect(cli.run(['users', 'disable', 'cy@example.org', '--yes'])).toMatchObject({ code: 0 })
    for (const node of [0, 1] as const) {
      at(node)
      expect(await userinfo(other)).toBe(401)
      const asked = await browser.open(authorizeUrl(authUrl, gone.client_id))
      expect(asked.text).toContain('name="email"')
    }
  })

  test('a key that is made in the cabinet at one shows its secret at the other, once, and is sealed until then', async () => {
    const browser = await enter(setup, 'eve@example.org')
    at(0)
    const page = await browser.open('/cabinet/keys/new')
    const { action, hidden } = findForm(page, '/keys/new')
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
    const made = await fetch(new URL(action, page.url), {
      method: 'POST',
      headers: { cookie, origin: new URL(page.url).origin },
      body: new URLSearchParams({ ...hidden, name: 'eve' }),
      redirect: 'manual',
    })
    const kept = await cluster.run(
      address,
      "SELECT payload FROM artifacts WHERE kind = 'CabinetSecret'",
    )
    const shownAt = made.headers.get('location') ?? ''
    at(1)
    const [, secret] = /id="secret">(if-[^<]+)</.exec((await browser.open(shownAt)).text) ?? []
    expect(secret).toBeDefined()
    expect(kept).toHaveLength(1)
    expect(JSON.stringify(kept)).not.toContain(secret)
    for (const node of [1, 0] as const) {
      at(node)
      expect((await browser.open(shownAt)).status).toBe(410)
    }
  })

  test.runIf(FULL)('a session of the cabinet is one at both, and ends at both', async () => {
    const browser = await enter(setup, 'dora@example.org')
    const open = async (node: 0 | 1) => {
      at(node)
      return await browser.open('/cabinet')
    }
    for (const node of [0, 1, 0] as const) expect((await open(node)).text).toContain('dora@')
    await browser.submit(await open(0), '/cabinet/sign-out', {})
    for (const node of [1, 0] as const) expect((await open(node)).text).toContain('name="email"')
  })
}
