/** OpenID Connect providers: code flow with PKCE, state and nonce, and full validation of the ID token. */
import * as oauth from 'oauth4webapi'
import { type Clock, type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import type { Reach } from '../deps.ts'
import { readEmail } from '../register/email.ts'
import type { ClaimedEmail } from '../register/identity.ts'
import type { IdentityProvider } from '../register/identity-provider.ts'
import { type FetchOptions, fetchOptionsOf, requireEndpoint } from './fetch-options.ts'
import {
  Declined,
  type FederatedLogin,
  type IdentityClaims,
  type IdentityClient,
  readName,
  requireSubject,
} from './identity-client.ts'

/** How long a discovery document is cached; the library has its own rule for keys. */
const METADATA_MS = 10 * MINUTE_MS

interface Known {
  readonly as: oauth.AuthorizationServer
  readonly until: Instant
}

/** Google does not support `prompt=login`; `select_account` is the closest that it offers. */
const FRESH_LOGIN_PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'https://accounts.google.com': { prompt: 'select_account' },
}

export function createOidcClient(
  reach: Reach,
  clock: Clock,
  isDevelopment: boolean,
): IdentityClient {
  const known = new Map<string, Known>()
  const fetchOptionsFor = ({ issuer }: IdentityProvider) =>
    fetchOptionsOf(reach, issuer, isDevelopment)

  const metadata = async (provider: IdentityProvider): Promise<oauth.AuthorizationServer> => {
    const kept = known.get(provider.issuer)
    if (kept !== undefined && kept.until > clock.now()) return kept.as
    const as = await discover(provider.issuer, fetchOptionsFor(provider), isDevelopment)
    known.set(provider.issuer, { as, until: later(clock.now(), METADATA_MS) })
    return as
  }

  return {
    async authorizationUrl({ provider, redirectUri, isFresh, state, nonce, verifier }) {
      const as = await metadata(provider)
      const address = new URL(as.authorization_endpoint ?? '')
      const fields = {
        response_type: 'code',
        client_id: provider.clientId,
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(isFresh && { prompt: 'login' }),
        ...FRESH_LOGIN_PARAMETERS[provider.issuer],
      }
      for (const [name, value] of Object.entries(fields)) address.searchParams.set(name, value)
      return address.href
    },
    async redeem(login, answer, secret) {
      const as = await metadata(login.provider)
      return await redeem(as, login, answer, secret, fetchOptionsFor(login.provider))
    },
  }
}

async function discover(
  issuer: string,
  asking: FetchOptions,
  isDevelopment: boolean,
): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer)
  const as = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, asking))
  // The library compares parsed URLs; issuers must be equal as strings.
  if (as.issuer !== issuer) throw new Error('its metadata names another issuer')
  requireEndpoint('authorization_endpoint', as.authorization_endpoint, isDevelopment)
  requireEndpoint('token_endpoint', as.token_endpoint, isDevelopment)
  requireEndpoint('jwks_uri', as.jwks_uri, isDevelopment)
  return as
}

async function redeem(
  as: oauth.AuthorizationServer,
  { provider, redirectUri, state, nonce, verifier }: FederatedLogin,
  answer: URLSearchParams,
  secret: string,
  asking: FetchOptions,
): Promise<IdentityClaims> {
  const client: oauth.Client = { client_id: provider.clientId }
  const callback = validated(() => oauth.validateAuthResponse(as, client, answer, state))
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication(as, secret),
    callback,
    redirectUri,
    verifier,
    asking,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(as, response, asking)
  const claims = oauth.getValidatedIdTokenClaims(tokens)
  if (claims === undefined) throw new Error('it sent no ID token')
  const isWhole = claims['email'] !== undefined || as.userinfo_endpoint === undefined
  const facts = isWhole ? claims : await userinfo(as, client, claims.sub, tokens, asking)
  return {
    subject: requireSubject(claims.sub),
    name: readName(facts['preferred_username'], facts['email'], facts['name']),
    email: emailIn(facts),
  }
}

/** Some providers put the address into the ID token only on request, but always into the userinfo response. */
async function userinfo(
  as: oauth.AuthorizationServer,
  client: oauth.Client,
  subject: string,
  { access_token }: oauth.TokenEndpointResponse,
  asking: FetchOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await oauth.userInfoRequest(as, client, access_token, asking)
  return await oauth.processUserInfoResponse(as, client, subject, response)
}

/** Prefers `client_secret_post`: not every provider decodes the percent-encoding that Basic requires. */
const authentication = (as: oauth.AuthorizationServer, secret: string): oauth.ClientAuth =>
  as.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    ? oauth.ClientSecretPost(secret)
    : oauth.ClientSecretBasic(secret)

/** @throws Declined if the response denies the request */
export function validated(validate: () => URLSearchParams): URLSearchParams {
  try {
    return validate()
  } catch (thrown) {
    if (!(thrown instanceof oauth.AuthorizationResponseError)) throw thrown
    throw new Declined(thrown.error.replace(/[^\w.-]/g, '').slice(0, 60))
  }
}

function emailIn(facts: Readonly<Record<string, unknown>>): ClaimedEmail | null {
  const { email: claimed, email_verified, hd } = facts
  const email = typeof claimed === 'string' ? readEmail(claimed) : undefined
  if (email === undefined) return null
  return {
    email,
    isVerified: email_verified === true,
    hostedDomain: typeof hd === 'string' ? hd.toLowerCase() : null,
  }
}
