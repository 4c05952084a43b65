/** Signing in to the cabinet: authorization code with PKCE, like any application's, its token request answered within the process. */
import type * as OAuth from 'oauth4webapi'
import { CABINET_ID } from '#signin/register/client.ts'
import { callbackOf } from './client.ts'
import { type Cookies, openCookie } from './cookies.ts'
import type { CabinetDeps } from './deps.ts'
import { goTo } from './respond.ts'
import { acceptOnly, INVITATIONS } from './screens/invitations.ts'
import { beginSession, providerSession } from './session.ts'

export interface SignIn {
  /** Sends the browser to sign in, and back to `path` afterwards. */
  begin(path: string): Promise<Response>
  /** The answer to the provider's redirect: a session, or the way to begin again. */
  complete(request: Request, address: string): Promise<Response>
  readonly cookie: Cookies
}

/** Loaded by whoever signs in first: a gateway whose people do not is without it. */
const library = async () => await import('oauth4webapi')

/** A sign-in may take as long as the provider's interaction. */
const BEGUN_SECONDS = 3600
/** A path to come back to is at most so long. */
const MAX_PATH_CHARS = 1_000

/** What the browser keeps of a sign-in that it has begun. */
interface Begun {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly path: string
}

export function openSignIn(deps: CabinetDeps): SignIn {
  const { issuer, clock, operator } = deps
  const cookie = openCookie('cabinet', issuer)
  const begunCookie = openCookie('cabinet-begun', issuer)
  const ofProvider = openCookie('session', issuer)

  return {
    cookie,
    async begin(path) {
      const oauth = await library()
      const begun: Begun = {
        state: oauth.generateRandomState(),
        nonce: oauth.generateRandomNonce(),
        verifier: oauth.generateRandomCodeVerifier(),
        path: path.slice(0, MAX_PATH_CHARS),
      }
      const answer = goTo(await authorizationUrl(issuer, begun))
      answer.headers.append('Set-Cookie', begunCookie.set(write(begun), BEGUN_SECONDS))
      return answer
    },
    async complete(request, address) {
      const begun = read(begunCookie.read(request))
      const { searchParams } = new URL(request.url)
      // Another tab has begun since, or this one is reloaded: whoever is signed in passes at once.
      if (begun === null || searchParams.get('state') !== begun.state) return goTo('/cabinet')
      const { store } = await operator
      const { artifacts } = store.signin
      const revocations = await artifacts.revocations()
      const personId = await redeem(deps, begun, searchParams, address)
      const known = await providerSession(artifacts, ofProvider.read(request) ?? '')
      if (known === undefined || known.personId !== personId) {
        return leave('/cabinet', begunCookie.clear())
      }
      const agent = request.headers.get('user-agent') ?? ''
      const facts = { ...known, address, agent, revocations }
      const id = await beginSession(artifacts, facts, clock.now())
      if (id === null) return leave('/cabinet', begunCookie.clear())
      const isIn = await acceptOnly(await operator, known.personId, clock.now())
      const path = isIn && begun.path === INVITATIONS ? '/cabinet' : begun.path
      return leave(path, begunCookie.clear(), cookie.set(id))
    },
  }
}

function leave(path: string, ...cookies: readonly string[]): Response {
  const answer = goTo(path)
  for (const one of cookies) answer.headers.append('Set-Cookie', one)
  return answer
}

const write = (begun: Begun): string => Buffer.from(JSON.stringify(begun)).toString('base64url')

function read(text: string | null): Begun | null {
  if (text === null) return null
  try {
    const begun = JSON.parse(Buffer.from(text, 'base64url').toString()) as Begun
    return isOwnPath(begun.path) ? begun : { ...begun, path: '/cabinet' }
  } catch {
    return null
  }
}

/** Whether a path leads to a page of the cabinet, and to no other host. */
const isOwnPath = (path: unknown): path is string =>
  typeof path === 'string' && /^\/cabinet(?:[/?][^\\]*)?$/.test(path)

async function authorizationUrl(issuer: string, { state, nonce, verifier }: Begun) {
  const { calculatePKCECodeChallenge } = await library()
  const fields = {
    response_type: 'code',
    client_id: CABINET_ID,
    redirect_uri: callbackOf(issuer),
    scope: 'openid',
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  return `/oauth/authorize?${new URLSearchParams(fields)}`
}

/** The person that the provider names; null where it names none, or refuses. */
async function redeem(
  { issuer, secret, ask }: CabinetDeps,
  { state, nonce, verifier }: Begun,
  answer: URLSearchParams,
  address: string,
): Promise<string | null> {
  const oauth = await library()
  const as: OAuth.AuthorizationServer = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    id_token_signing_alg_values_supported: ['RS256'],
    authorization_response_iss_parameter_supported: true,
  }
  const client: OAuth.Client = { client_id: CABINET_ID, id_token_signed_response_alg: 'RS256' }
  try {
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.ClientSecretBasic(secret),
      oauth.validateAuthResponse(as, client, answer, state),
      callbackOf(issuer),
      verifier,
      {
        [oauth.allowInsecureRequests]: true,
        [oauth.customFetch]: (url, init) =>
          ask(new Request(url, init as unknown as RequestInit), address),
      },
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    return oauth.getValidatedIdTokenClaims(tokens)?.sub ?? null
  } catch (thrown) {
    if (thrown instanceof oauth.AuthorizationResponseError) return null
    if (thrown instanceof oauth.ResponseBodyError) return null
    throw thrown
  }
}
