/** GitHub and GitHub Enterprise: OAuth 2.0 with PKCE, and two API requests for the identity, because there is no ID token. */
import * as oauth from 'oauth4webapi'
import * as z from 'zod/mini'
import type { Reach } from '../deps.ts'
import { readEmail } from '../register/email.ts'
import type { ClaimedEmail } from '../register/identity.ts'
import { type FetchOptions, fetchOptionsOf } from './fetch-options.ts'
import {
  type FederatedLogin,
  type IdentityClient,
  readName,
  requireSubject,
} from './identity-client.ts'
import { validated } from './oidc.ts'

const GITHUB = 'https://github.com'

const endpointsOf = (issuer: string) => {
  const root = issuer.replace(/\/$/, '')
  const server: oauth.AuthorizationServer = {
    issuer,
    authorization_endpoint: `${root}/login/oauth/authorize`,
    token_endpoint: `${root}/login/oauth/access_token`,
  }
  // An Enterprise server has its API on its own host.
  return { server, api: issuer === GITHUB ? 'https://api.github.com' : `${root}/api/v3` }
}

export function createGithubClient(reach: Reach, isDevelopment: boolean): IdentityClient {
  return {
    async authorizationUrl({ provider, redirectUri, state, verifier }) {
      const address = new URL(endpointsOf(provider.issuer).server.authorization_endpoint ?? '')
      const fields = {
        client_id: provider.clientId,
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        prompt: 'select_account',
      }
      for (const [name, value] of Object.entries(fields)) address.searchParams.set(name, value)
      return address.href
    },
    async redeem(login, answer, secret) {
      const { issuer } = login.provider
      // The API's host follows from the issuer that the operator configured, so it is as trusted.
      const asking = fetchOptionsOf(reach, issuer, isDevelopment)
      const token = await redeemCode(login, answer, secret, asking)
      const { api } = endpointsOf(issuer)
      const user = USER.parse(await requestApi(`${api}/user`, token, asking))
      const emails = EMAILS.parse(await requestApi(`${api}/user/emails`, token, asking))
      return {
        subject: requireSubject(String(user.id)),
        name: readName(user.login),
        email: primaryOf(emails),
      }
    },
  }
}

async function redeemCode(
  { provider, redirectUri, state, verifier }: FederatedLogin,
  answer: URLSearchParams,
  secret: string,
  asking: FetchOptions,
): Promise<string> {
  const { server } = endpointsOf(provider.issuer)
  const client: oauth.Client = { client_id: provider.clientId }
  const callback = validated(() => oauth.validateAuthResponse(server, client, answer, state))
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.ClientSecretPost(secret),
    callback,
    redirectUri,
    verifier,
    asking,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response)
  return tokens.access_token
}

async function requestApi(address: string, token: string, asking: FetchOptions): Promise<unknown> {
  const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'gatewayctl' })
  const url = new URL(address)
  const response = await oauth.protectedResourceRequest(token, 'GET', url, headers, null, asking)
  if (response.status !== 200) throw new Error(`${url.pathname} answered ${response.status}`)
  return await response.json()
}

/** The id never changes, while a login can be renamed, and then taken by somebody else. */
const USER = z.object({
  id: z.int().check(z.minimum(1)),
  login: z.string(),
})

const EMAILS = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** The primary address; null if it is not verified. */
function primaryOf(emails: z.infer<typeof EMAILS>): ClaimedEmail | null {
  const primary = emails.find((one) => one.primary && one.verified)
  const email = primary && readEmail(primary.email)
  return email === undefined ? null : { email, isVerified: true, hostedDomain: null }
}
