// The certification's Config OP plan: one module, which reads the metadata of the provider behind TLS.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSigninGateway, type SigninGateway } from '../signin-gateway.ts'
import { demandMetadata, demandPublicKeys } from './demands.ts'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway({}, { isBehindTls: true })
})
afterAll(() => setup.close())

/** The fields of OpenID Connect Discovery, RP-Initiated and Back-Channel Logout, RFC 8414 and RFC 9207 that the metadata contain. */
const KNOWN = {
  addresses: [
    'authorization_endpoint',
    'token_endpoint',
    'userinfo_endpoint',
    'jwks_uri',
    'end_session_endpoint',
    'revocation_endpoint',
  ],
  lists: [
    'response_types_supported',
    'response_modes_supported',
    'grant_types_supported',
    'subject_types_supported',
    'acr_values_supported',
    'id_token_signing_alg_values_supported',
    'scopes_supported',
    'token_endpoint_auth_methods_supported',
    'code_challenge_methods_supported',
    'claims_supported',
    'claim_types_supported',
    'ui_locales_supported',
  ],
  flags: [
    'authorization_response_iss_parameter_supported',
    'backchannel_logout_session_supported',
    'backchannel_logout_supported',
    'claims_parameter_supported',
    'request_uri_parameter_supported',
  ],
}

test('oidcc-discovery-endpoint-verification: all over https, valid by the schema, and no unknown field', async () => {
  expect(setup.authUrl).toMatch(/^https:\/\//)
  const metadata = await demandMetadata(setup)
  await demandPublicKeys(setup, metadata)
  const { issuer, ...rest } = metadata
  expect(new URL(issuer).href).toBe(`${issuer}/`)
  expect(Object.keys(rest).toSorted()).toEqual(Object.values(KNOWN).flat().toSorted())
  for (const name of KNOWN.addresses) {
    expect([name, URL.parse(String(rest[name]))?.protocol]).toEqual([name, 'https:'])
  }
  for (const name of KNOWN.lists) {
    const list = rest[name] as readonly unknown[]
    expect(list.length).toBeGreaterThan(0)
    expect(list.every((one) => typeof one === 'string')).toBe(true)
    expect(new Set(list).size).toBe(list.length)
  }
  for (const name of KNOWN.flags) expect([name, typeof rest[name]]).toEqual([name, 'boolean'])
  expect(rest).toMatchObject({
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
    scopes_supported: expect.arrayContaining(['openid']),
    grant_types_supported: expect.arrayContaining(['authorization_code']),
    claims_supported: expect.arrayContaining(['sub']),
  })
  for (const scope of rest['scopes_supported'] as readonly string[]) {
    expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
  }
  const locales = rest['ui_locales_supported'] as readonly string[]
  expect(Intl.getCanonicalLocales([...locales])).toEqual(locales)
})
