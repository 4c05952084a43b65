/**
 * A stand-in for Google Cloud: a token endpoint that checks the assertion of a service account by its public key, a metadata
 * server, and Vertex AI, which answers those with a token that is valid with what the vendor's own API says.
 */
import { generateKeyPairSync } from 'node:crypto'
import { importSPKI, jwtVerify } from 'jose'
import { type AskVendor, type Front, type Seen, startFront } from './front.ts'

export interface VertexOptions {
  readonly ask: AskVendor
  /** How long a token is valid. */
  readonly tokenSeconds?: number
  /** The time of the service. */
  readonly now?: () => number
  /** Called with each request for a token, before it is answered; what it returns is the answer. */
  readonly beforeToken?: () => Promise<Response | undefined> | undefined
}

export interface VertexFront extends Front {
  /** The key file of the service account. */
  readonly keyFile: string
  /** How many tokens were given. */
  tokens(): number
  /** No token that was given so far is valid any more. */
  revoke(): void
}

const EMAIL = 'gateway@my-project.iam.gserviceaccount.com'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

export function startVertex(options: VertexOptions): VertexFront {
  const { ask, tokenSeconds = 3_600, now = Date.now, beforeToken } = options
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const valid = new Map<string, number>()
  let given = 0

  const give = (): Response => {
    given++
    const token = `ya29.token-${given}`
    valid.set(token, now() + tokenSeconds * 1_000)
    return Response.json({ access_token: token, expires_in: tokenSeconds, token_type: 'Bearer' })
  }

  const exchange = async ({ text, url }: Seen): Promise<Response> => {
    const form = new URLSearchParams(text)
    try {
      const key = await importSPKI(publicKey.export({ type: 'spki', format: 'pem' }), 'RS256')
      const { payload } = await jwtVerify(form.get('assertion') ?? '', key, {
        issuer: EMAIL,
        audience: `${url.origin}/token`,
        currentDate: new Date(now()),
      })
      if (payload['scope'] === SCOPE) return give()
    } catch {
      // Refused below.
    }
    return Response.json(
      { error: 'invalid_grant', error_description: `Invalid JWT of ${EMAIL}` },
      { status: 400 },
    )
  }

  const front = startFront(async (seen) => {
    const { pathname } = seen.url
    const isOfMachine = pathname.startsWith('/computeMetadata/')
    if (pathname === '/token' || isOfMachine) {
      const instead = await beforeToken?.()
      if (instead !== undefined) return instead
      if (!isOfMachine) return await exchange(seen)
      return seen.headers.get('metadata-flavor') === 'Google'
        ? give()
        : new Response('Forbidden', { status: 403 })
    }
    const token = (seen.headers.get('authorization') ?? '').replace(/^Bearer /, '')
    if ((valid.get(token) ?? 0) <= now()) return unauthenticated()
    const [, publisher] = /^\/v1beta1\/publishers\/(\w+)\/models$/.exec(pathname) ?? []
    return publisher === undefined ? await ask(seen) : Response.json(listOf(publisher))
  })
  const keyFile = JSON.stringify(
    {
      type: 'service_account',
      project_id: 'my-project',
      private_key_id: 'k1',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: EMAIL,
      token_uri: `${front.url}/token`,
    },
    null,
    2,
  )
  return { ...front, keyFile, tokens: () => given, revoke: () => valid.clear() }
}

const unauthenticated = (): Response =>
  Response.json(
    {
      error: {
        code: 401,
        message: 'Request had invalid authentication credentials.',
        status: 'UNAUTHENTICATED',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'ACCESS_TOKEN_EXPIRED' },
        ],
      },
    },
    { status: 401 },
  )

const listOf = (publisher: string) => ({
  publisherModels: (publisher === 'google'
    ? ['gemini-2.5-flash', 'gemini-2.5-pro']
    : ['claude-haiku-4-5@20251001']
  ).map((name) => ({ name: `publishers/${publisher}/models/${name}` })),
})
