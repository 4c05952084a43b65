// The certification's Basic OP plan, by either response mode: reused codes and tokens, and modules that wait. Each title is a module.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import { readIdToken } from './demands.ts'
import {
  callToken,
  codeGrant,
  complete,
  demandRefusal,
  type Mode,
  openSuite,
  readTokens,
  readUserinfo,
} from './suite.ts'

/** The modules of the Basic OP plan, and of its twin for form_post, about reused codes and tokens, and time. */
export function codeModules(mode: Mode): void {
  let suite: Awaited<ReturnType<typeof openSuite>>

  beforeAll(async () => {
    suite = await openSuite({ mode })
  })
  afterAll(() => suite.close())

  /** The suite waits for a fixed time, and so does this; `until` is only the means. */
  const pass = (seconds: number): Promise<void> => {
    const since = performance.now()
    const withinMs = (seconds + 5) * 1000
    return until(() => performance.now() - since >= seconds * 1000, 'time has passed', withinMs)
  }

  /** The status of userinfo for a token. */
  const statusFor = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await suite.setup.ask(suite.metadata.userinfo_endpoint, { headers })).status
  }

  const MODULE_MS = 60_000

  describe.concurrent('used again', () => {
    test('oidcc-codereuse: refused at once, and what it had issued is revoked', async () => {
      const sent = await suite.visitor().pass()
      const { code, tokens } = await complete(suite, sent)
      await demandRefusal(
        await callToken(suite, sent.client, codeGrant(code, sent)),
        'invalid_grant',
      )
      expect(await statusFor(tokens.access_token)).toBe(401)
    })

    test(
      'oidcc-codereuse-30seconds: refused later too, and what it had issued is revoked',
      async () => {
        const sent = await suite.visitor().pass()
        const { code, tokens } = await complete(suite, sent)
        await pass(FULL ? 30 : 2)
        expect(await statusFor(tokens.access_token)).toBe(200)
        const again = await callToken(suite, sent.client, codeGrant(code, sent))
        await demandRefusal(again, 'invalid_grant')
        expect(await statusFor(tokens.access_token)).toBe(401)
      },
      MODULE_MS,
    )

    test('oidcc-max-age-1: asks for sign-in again two seconds later, and the ID token says when', async () => {
      const visitor = suite.visitor()
      const { claims: first } = await complete(suite, await visitor.pass())
      await pass(2)
      const asked = await visitor.send({ max_age: '1' })
      expect(asked.page.text).toContain('name="email"')
      const { claims } = await complete(suite, await visitor.answer(asked))
      expect(claims.sub).toBe(first.sub)
      expect(claims.auth_time).toBeGreaterThan(first.auth_time)
      expect(claims.auth_time).toBeGreaterThan(Date.now() / 1000 - 60)
    })

    test("oidcc-refresh-token: a new one each time, and never another client's", async () => {
      expect(suite.metadata['grant_types_supported']).toContain('refresh_token')
      const offline = { scope: 'openid offline_access', prompt: 'consent' }
      const refresh = async (client: typeof suite.client, refresh_token = '') =>
        callToken(suite, client, { grant_type: 'refresh_token', refresh_token })
      const held = []
      for (const client of [suite.client, suite.second]) {
        const sent = await suite.visitor().pass(offline, client)
        const first = await complete(suite, sent)
        expect(first.tokens.refresh_token).toMatch(/^[\x20-\x7e]{16,}$/)
        await pass(1)
        const tokens = await readTokens(await refresh(client, first.tokens.refresh_token))
        expect(tokens.access_token).not.toBe(first.tokens.access_token)
        const asked = { clientId: client.client_id, nonce: sent.fields['nonce'] }
        const { claims } = await readIdToken(suite, tokens, asked)
        const { iss, sub, aud, auth_time } = first.claims
        expect(claims).toMatchObject({ iss, sub, aud, auth_time })
        expect(claims.iat).toBeGreaterThan(first.claims.iat)
        await readUserinfo(
          suite,
          { headers: { authorization: `Bearer ${tokens.access_token}` } },
          claims,
        )
        held.push(tokens.refresh_token)
      }
      await demandRefusal(await refresh(suite.client, held[1]), 'invalid_grant')
      // The client that it belongs to can still use it.
      await readTokens(await refresh(suite.second, held[1]))
    })
  })
}
