/** Third parties on loopback that say what a test tells them to: an OpenID issuer that signs its tokens, and a GitHub. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface Claims {
  readonly [name: string]: unknown
}

/** What an issuer does otherwise than well. */
export interface Behaviour {
  /** Over the claims of an ID token as it ought to be. */
  readonly claims?: Claims
  /** Over the parameters that the browser brings back; null leaves one out. */
  readonly answer?: Readonly<Record<string, string | null>>
  /** Over the metadata. */
  readonly metadata?: Claims
  /** Over the answer about the person; without it there is no such endpoint. */
  readonly userinfo?: Claims
  /** Signs with a key that it does not publish. */
  readonly isForged?: boolean
  readonly header?: Claims
  /** Instead of the token endpoint's own answer. */
  readonly token?: () => Response | Promise<Response>
  readonly discovery?: () => Response | Promise<Response>
}

export interface Issuer {
  readonly url: string
  behaviour: Behaviour
  /** What it was asked, in order: method and path. */
  readonly asked: string[]
  /** The last form at its token endpoint, and the Authorization that came with it. */
  readonly redeemed: Readonly<Record<string, string>>[]
  /** What a browser that is sent there is sent back with; as a person who agrees at once. */
  consent(address: string): string
  close(): Promise<void>
}

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const { privateKey: strangersKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const JWKS = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }],
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function signed(claims: Claims, key: KeyObject, header: Claims = {}): string {
  const text = `${part({ alg: 'RS256', kid: 'k1', ...header })}.${part(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

const sha256 = (text: string): string =>
  new Bun.CryptoHasher('sha256').update(text).digest('base64url')

/** Codes name what they were issued for, as a real issuer's database would. */
interface Issued {
  readonly nonce: string | null
  readonly challenge: string | null
  readonly redirectUri: string | null
}

const secondsNow = (): number => Math.floor(Date.now() / 1000)

/** Speaks as `client_id` wants it: an ID token for `sub` s-1 and a verified ann@example.org, unless told otherwise. */
export function openIssuer(): Issuer {
  const asked: string[] = []
  const redeemed: Record<string, string>[] = []
  const codes = new Map<string, Issued>()
  const issuer = { behaviour: {} as Behaviour }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request): Promise<Response> {
      const { pathname, origin: url } = new URL(request.url)
      asked.push(`${request.method} ${pathname}`)
      const { behaviour } = issuer
      switch (pathname) {
        case '/.well-known/openid-configuration':
          return (await behaviour.discovery?.()) ?? Response.json(metadata(url, behaviour))
        case '/jwks':
          return Response.json(JWKS)
        case '/token':
          return (await behaviour.token?.()) ?? redeem(request, redeemed, codes, url, behaviour)
        case '/userinfo':
          return Response.json({ sub: 's-1', ...behaviour.userinfo })
        default:
          return new Response(null, { status: 404 })
      }
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  return Object.assign(issuer, {
    url,
    asked,
    redeemed,
    consent(address: string) {
      const { searchParams: sent } = new URL(address)
      const code = `code-${codes.size + 1}`
      codes.set(code, {
        nonce: sent.get('nonce'),
        challenge: sent.get('code_challenge'),
        redirectUri: sent.get('redirect_uri'),
      })
      const back = new URL(sent.get('redirect_uri') ?? '')
      const answer = { code, state: sent.get('state'), iss: url, ...issuer.behaviour.answer }
      for (const [name, value] of Object.entries(answer)) {
        if (value !== null) back.searchParams.set(name, value)
      }
      return back.href
    },
    close: () => server.stop(true),
  })
}

const metadata = (url: string, behaviour: Behaviour): Claims => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  jwks_uri: `${url}/jwks`,
  ...(behaviour.userinfo && { userinfo_endpoint: `${url}/userinfo` }),
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  authorization_response_iss_parameter_supported: true,
  ...behaviour.metadata,
})

async function redeem(
  request: Request,
  redeemed: Record<string, string>[],
  codes: Map<string, Issued>,
  url: string,
  behaviour: Behaviour,
): Promise<Response> {
  const form = Object.fromEntries(new URLSearchParams(await request.text()))
  const authorization = request.headers.get('authorization')
  redeemed.push({ ...form, ...(authorization && { authorization }) })
  const issued = codes.get(form['code'] ?? '')
  codes.delete(form['code'] ?? '')
  const fits =
    issued?.challenge === sha256(form['code_verifier'] ?? '') &&
    issued.redirectUri === form['redirect_uri']
  if (!fits) return Response.json({ error: 'invalid_grant' }, { status: 400 })
  const claims = {
    iss: url,
    sub: 's-1',
    aud: form['client_id'] ?? 'gateway',
    exp: secondsNow() + 300,
    iat: secondsNow(),
    nonce: issued.nonce,
    email: 'ann@example.org',
    email_verified: true,
    ...behaviour.claims,
  }
  return Response.json({
    access_token: 'canary-access-token',
    token_type: 'Bearer',
    id_token: signed(claims, behaviour.isForged ? strangersKey : privateKey, behaviour.header),
  })
}

export interface GithubEmail {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

export interface Github {
  readonly url: string
  user: { readonly id: unknown; readonly login: string }
  emails: readonly GithubEmail[]
  readonly redeemed: Readonly<Record<string, string>>[]
  consent(address: string): string
  close(): Promise<void>
}

/** As GitHub Enterprise: an error of its token endpoint is a 200, and the person is asked for below `/api/v3`. */
export function openGithub(): Github {
  const redeemed: Record<string, string>[] = []
  const challenges = new Map<string, string | null>()
  const github = {
    user: { id: 583231, login: 'octocat' } as Github['user'],
    emails: [
      { email: 'octo@private.example', primary: false, verified: true },
      { email: 'ann@example.org', primary: true, verified: true },
    ] as Github['emails'],
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams, origin } = new URL(request.url)
      if (pathname === '/login/oauth/authorize') {
        const address = `${origin}${pathname}?${searchParams}`
        return Response.redirect(consent(address), 302)
      }
      if (pathname === '/login/oauth/access_token') {
        const form = Object.fromEntries(new URLSearchParams(await request.text()))
        redeemed.push(form)
        const isGood =
          request.headers.get('accept') === 'application/json' &&
          challenges.get(form['code'] ?? '') === sha256(form['code_verifier'] ?? '')
        challenges.delete(form['code'] ?? '')
        return isGood
          ? Response.json({ access_token: 'gho_canary', scope: 'user:email', token_type: 'bearer' })
          : Response.json({ error: 'bad_verification_code', error_description: 'no' })
      }
      const isKnown =
        request.headers.get('authorization') === 'Bearer gho_canary' &&
        request.headers.get('user-agent') !== null
      if (!isKnown) return Response.json({ message: 'Bad credentials' }, { status: 401 })
      if (pathname === '/api/v3/user') return Response.json({ ...github.user, name: 'Octo' })
      if (pathname === '/api/v3/user/emails') return Response.json(github.emails)
      return Response.json({ message: 'Not Found' }, { status: 404 })
    },
  })
  const consent = (address: string): string => {
    const { searchParams: sent } = new URL(address)
    const code = `code-${challenges.size + redeemed.length + 1}`
    challenges.set(code, sent.get('code_challenge'))
    const back = new URL(sent.get('redirect_uri') ?? '')
    back.searchParams.set('code', code)
    back.searchParams.set('state', sent.get('state') ?? '')
    return back.href
  }
  return Object.assign(github, {
    url: `http://127.0.0.1:${server.port}`,
    redeemed,
    consent,
    close: () => server.stop(true),
  })
}
