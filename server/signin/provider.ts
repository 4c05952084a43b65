/** The OpenID provider: configures the library explicitly, without relying on its defaults (contract §10). */
import { UnsupportedResponseMode } from 'oidc-provider/lib/helpers/errors.js'
import {
  type Client,
  type Context,
  Provider,
  type ResponseModeHandler,
  type Session,
} from 'oidc-provider/lib/provider.js'
import query from 'oidc-provider/lib/response_modes/query.js'
import { unixSeconds } from '#domain/clock.ts'
import { adaptersOf, DEVICE_GRANT } from './adapter.ts'
import {
  accountFinder,
  CLAIMS_BY_SCOPE,
  CLAIMS_SUPPORTED,
  ONE_FACTOR,
  TWO_FACTORS,
} from './claims.ts'
import { cookieSigner } from './cookie-signer.ts'
import type { SigninDeps } from './deps.ts'
import { deviceFlow } from './device-pages.ts'
import type { InteractionLimit } from './interaction-limit.ts'
import { guardLibraryPages, showProblem, showSignedOut, showSignOut } from './library-pages.ts'
import { grantWithoutConsent, interactionPolicy, SESSION_SECONDS } from './policy.ts'
import { noteProtocolEvents } from './protocol-events.ts'
import { digestOf, sameDigest } from './register/digest.ts'
import type { SigningKey } from './register/keyring.ts'
import { type PasskeyPolicy, policyAt } from './register/passkey.ts'
import {
  AUTHORIZE,
  DEVICE,
  DEVICE_AUTHORIZATION,
  LOGOUT,
  REVOKE,
  TOKEN,
  USERINFO,
} from './routes.ts'
import { STORE_TROUBLE_STATUS, storeTroubleHeaders } from './store-trouble.ts'

export interface Keys {
  /** The first key signs. */
  readonly signing: readonly SigningKey[]
  readonly cookies: string
}

/** @throws if minification has renamed the library's classes */
export function createProvider(
  deps: SigninDeps,
  keys: Keys,
  interactionLimit: InteractionLimit,
): Provider {
  const passkeys = policyAt(deps.issuer, deps.passkeys)
  const provider = new CodeFlowProvider(deps.issuer, {
    ...protocol(passkeys),
    ...lifetimes(deps, interactionLimit),
    ...cookies(deps, keys),
    adapter: adaptersOf(deps.store, deps.clock),
    findAccount: accountFinder(deps.store, passkeys, deps.clock),
    jwks: { keys: keys.signing.map(({ jwk }) => JSON.parse(jwk) as unknown) },
    interactions: {
      policy: interactionPolicy(deps.clock, passkeys),
      url: (_ctx, { uid }) => interactionPath(uid),
    },
    loadExistingGrant: grantWithoutConsent(() => provider),
    features: features(deps),
    renderError: (ctx: Context, out: object, cause: unknown) => showProblem(deps, ctx, out, cause),
  })
  checkNames(provider)
  pinAddress(provider, deps.issuer)
  refuseFragment(provider)
  correctMetadata(provider, deps)
  ignoreStaleCookies(provider)
  provider.use(guardLibraryPages(deps))
  provider.Client.prototype.compareClientSecret = function (secret) {
    return sameDigest(this.clientSecret, digestOf(secret))
  }
  // The library would send it while the person waits; the store notes it with the end of the session.
  provider.Client.prototype.backchannelLogout = async () => {}
  provider.on('server_error', (ctx, cause) => {
    deps.logFault(cause)
    const headers = storeTroubleHeaders(cause)
    if (headers === undefined) return
    ctx.status = STORE_TROUBLE_STATUS
    for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  })
  provider.on('error', (cause) => deps.logFault(cause))
  noteProtocolEvents(provider, deps.clock)
  return provider
}

export const interactionPath = (uid: string): string => `/sign-in/${uid}`

const protocol = (passkeys: PasskeyPolicy) => ({
  responseTypes: ['code'],
  scopes: ['openid', 'email', 'profile', 'groups', 'offline_access'],
  claims: CLAIMS_BY_SCOPE,
  acrValues: passkeys === 'off' ? [ONE_FACTOR] : [ONE_FACTOR, TWO_FACTORS],
  // The ID token contains the claims of its scopes, because many clients never call the userinfo endpoint; a client may decline
  // them (`claims.ts`).
  conformIdTokenClaims: false,
  subjectTypes: ['public'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', PUBLIC],
  clientDefaults: { id_token_signed_response_alg: 'RS256' },
  enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
  extraClientMetadata: { properties: ['require_pkce', 'access', 'id_token_claims'] },
  pkce: {
    required: (_ctx: Context, client: { readonly require_pkce: boolean }) => client.require_pkce,
  },
  // `redirect_uri` is required in the authorization request, and optional in the token request (`token-request.ts`).
  allowOmittingSingleRegisteredRedirectUri: false,
  acceptQueryParamAccessTokens: false,
  rotateRefreshToken: true,
  clientBasedCORS: allowsOrigin,
  discovery: { ui_locales_supported: ['en', 'ru'] },
  routes: {
    authorization: AUTHORIZE,
    token: TOKEN,
    userinfo: USERINFO,
    revocation: REVOKE,
    jwks: '/oauth/jwks',
    end_session: LOGOUT,
    device_authorization: DEVICE_AUTHORIZATION,
    code_verification: DEVICE,
  },
})

/** The client authentication of public clients. */
const PUBLIC = 'none'

/** The scripts of a page may call the endpoints of a public client, from where that is sent back to. An app's scheme has no origin. */
const allowsOrigin = (_ctx: Context, origin: string, client: Client): boolean =>
  client.clientAuthMethod === PUBLIC &&
  origin !== 'null' &&
  client.redirectUris.some((uri) => URL.parse(uri)?.origin === origin)

const HOUR = 3600
const DAY = 24 * HOUR

/** The idle time-out of a session. */
const SESSION_IDLE_SECONDS = DAY

/** In seconds. */
const lifetimes = ({ clock }: SigninDeps, interactionLimit: InteractionLimit) => ({
  ttl: {
    AuthorizationCode: 60,
    AccessToken: HOUR,
    IdToken: HOUR,
    RefreshToken: 30 * DAY,
    DeviceCode: 600,
    Grant: 30 * DAY,
    // The library reads this only just before it stores an interaction, so the rate limit is applied here.
    Interaction: beginInteraction(interactionLimit),
    Session: (_ctx: Context, { loginTs }: Session) =>
      loginTs === undefined ? HOUR : sessionSeconds(unixSeconds(clock.now()) - loginTs),
  },
})

const beginInteraction =
  (interactionLimit: InteractionLimit) =>
  ({ ip }: Context): number => {
    interactionLimit.begin(ip)
    return HOUR
  }

const sessionSeconds = (age: number): number =>
  Math.max(1, Math.min(SESSION_IDLE_SECONDS, SESSION_SECONDS - age))

const isSecure = (issuer: string): boolean => issuer.startsWith('https:')

/** The name of the session cookie. */
const sessionCookie = (issuer: string): string => (isSecure(issuer) ? '__Host-session' : 'session')

function cookies({ issuer }: SigninDeps, keys: Keys) {
  const secure = isSecure(issuer)
  const cookieOptions = { signed: true, httpOnly: true, sameSite: 'lax', secure }
  return {
    cookies: {
      keys: cookieSigner(keys.cookies),
      // `__Host-` binds the session cookie to this host; the other cookies are bound to the path of one interaction.
      names: {
        session: sessionCookie(issuer),
        interaction: secure ? '__Secure-interaction' : 'interaction',
        resume: secure ? '__Secure-resume' : 'resume',
      },
      long: { ...cookieOptions, path: '/' },
      short: cookieOptions,
    },
  }
}

const features = (deps: SigninDeps) => ({
  ...off('devInteractions', 'dPoP', 'pushedAuthorizationRequests', 'resourceIndicators'),
  ...off('claimsParameter', 'requestObjects', 'introspection', 'registration'),
  // Of any other token the client is told nothing, not even that there is one.
  revocation: {
    enabled: true,
    allowedPolicy: (_ctx: Context, client: Client, token: { readonly clientId: string }) =>
      token.clientId === client.clientId,
  },
  userinfo: { enabled: true },
  deviceFlow: deviceFlow(deps),
  backchannelLogout: { enabled: true },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource: (ctx: Context) => showSignOut(deps, ctx),
    postLogoutSuccessSource: (ctx: Context) => showSignedOut(deps, ctx),
  },
})

const off = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { enabled: false }]))

/** The library derives URLs from the request, but clients can forge Host and X-Forwarded-*. */
function pinAddress(provider: Provider, issuer: string): void {
  const { host, protocol } = new URL(issuer)
  Object.defineProperties(provider.request, {
    host: { get: () => host },
    protocol: { get: () => protocol.slice(0, -1) },
  })
}

/** The supported response modes. The library always adds `fragment`, also to its discovery document. */
const RESPONSE_MODES = ['form_post', 'query']

/** Only errors of requests for the implicit flow, which is not supported, are returned in a fragment. */
class CodeFlowProvider extends Provider {
  override registerResponseMode(name: string, handler: ResponseModeHandler): void {
    const isAsked = ({ oidc }: Context): boolean => oidc.params?.['response_mode'] === name
    const kept: ResponseModeHandler =
      name === 'fragment'
        ? (ctx, to, payload) => (isAsked(ctx) ? query : handler)(ctx, to, payload)
        : handler
    super.registerResponseMode(name, kept)
  }
}

/** Rejected like an unknown mode (hardening §1). */
function refuseFragment(provider: Provider): void {
  provider.Client.prototype.responseModeAllowed = (mode, responseType) => {
    if (mode === 'fragment' && responseType?.includes('token') !== true) {
      throw new UnsupportedResponseMode()
    }
    return true
  }
}

/**
 * Treats the cookie of a session that no longer exists like no cookie. The library would store an empty session for every such
 * request, without a limit, and overwrite the cookie that a concurrent sign-in of the same browser has just set.
 */
function ignoreStaleCookies({ Session: sessions }: Provider): void {
  const get = sessions.get.bind(sessions)
  sessions.get = async (ctx) => {
    const session = await get(ctx)
    const isStored = session.exp !== undefined
    if (!isStored) Object.defineProperty(session, 'new', { value: true })
    return session
  }
}

/** Corrects what the library announces in the discovery document regardless of its configuration. */
function correctMetadata(provider: Provider, { store }: SigninDeps): void {
  provider.use(async (ctx, next) => {
    await next()
    const metadata = ctx.body
    if (typeof metadata !== 'object' || metadata === null) return
    if (!('response_modes_supported' in metadata)) return
    const clients = await store.clients.list()
    ctx.body = {
      ...metadata,
      ...(!clients.some(({ secretDigest }) => secretDigest === null) && withoutPublic(metadata)),
      ...(!clients.some(({ isForDevices }) => isForDevices) && withoutDevices(metadata)),
      response_modes_supported: RESPONSE_MODES,
      claims_supported: CLAIMS_SUPPORTED,
    }
  })
}

/** The methods of authentication that are announced while no public client is registered. */
const withoutPublic = (metadata: object): object =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([name]) => name.endsWith('_endpoint_auth_methods_supported'))
      .map(([name, methods]) => [name, methods.filter((method: string) => method !== PUBLIC)]),
  )

/** What is announced of grants and endpoints while no client is for devices. */
function withoutDevices(metadata: object): object {
  const { grant_types_supported: grants } = metadata as { grant_types_supported?: string[] }
  return {
    grant_types_supported: grants?.filter((grant) => grant !== DEVICE_GRANT),
    device_authorization_endpoint: undefined,
  }
}

const MODELS = [
  'AccessToken',
  'AuthorizationCode',
  'Grant',
  'Session',
  'Interaction',
  'RefreshToken',
  'DeviceCode',
] as const

/** Stored records are distinguished only by these class names. */
function checkNames(provider: Provider): void {
  const broken = MODELS.filter((model) => provider[model].name !== model)
  if (broken.length === 0) return
  throw new Error(`this binary was built with minified names: ${broken.join(', ')}`)
}
