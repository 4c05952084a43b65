/** The access tokens of Google Cloud: for a service account by its key (RFC 7523), for the gateway's machine by its metadata server. */
import type { Clock } from '#domain/clock.ts'
import type { GoogleCredential } from '#domain/cloud-credential.ts'
import { isObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Authorizer } from '../authorize.ts'
import { fromTransportError } from '../failure.ts'
import { openPost } from '../http1/post.ts'
import { keepLease, type Lease } from '../lease.ts'
import { parseText } from '../read-json.ts'
import { requestText, type TextReply } from '../request-text.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const FETCH_TIMEOUT_MS = 20_000
const MAX_ANSWER_BYTES = 65_536
/** The longest that Google accepts. */
const ASSERTION_SECONDS = 3_600

/** `credential` is null for the service account of the gateway's machine. */
export function openTokens(credential: GoogleCredential | null, clock: Clock): Authorizer {
  const tokens = keepLease(
    () => (credential === null ? fromMachine() : exchange(credential, clock)),
    () => clock.monotonicMs(),
  )
  return {
    headersFor: async () => ({ authorization: `Bearer ${await tokens.get()}` }),
    refused: () => tokens.forget(),
  }
}

/** @throws UpstreamFailure */
async function exchange(credential: GoogleCredential, clock: Clock): Promise<Lease<string>> {
  const { tokenUri } = credential
  const form = new URLSearchParams({ grant_type: GRANT, assertion: await sign(credential, clock) })
  return await fetchToken(() =>
    requestText(
      openPost(tokenUri),
      {
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
          'accept-encoding': 'identity',
        },
        body: form.toString(),
      },
      AbortSignal.timeout(FETCH_TIMEOUT_MS),
      MAX_ANSWER_BYTES,
    ),
  )
}

async function sign(
  { email, keyId, privateKey, tokenUri }: GoogleCredential,
  clock: Clock,
): Promise<string> {
  // Loaded for this alone.
  const { importPKCS8, SignJWT } = await import('jose')
  const issuedAt = Math.floor(clock.now() / 1_000)
  try {
    return await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== null && { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUri)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + ASSERTION_SECONDS)
      .sign(await importPKCS8(privateKey, 'RS256'))
  } catch (cause) {
    throw new UpstreamFailure('unauthorized', "its service account's private key cannot be read", {
      cause,
    })
  }
}

const fromMachine = (): Promise<Lease<string>> => {
  const host = process.env['GCE_METADATA_HOST'] ?? 'metadata.google.internal'
  const path = '/computeMetadata/v1/instance/service-accounts/default/token'
  return fetchToken(() =>
    requestText(
      openPost(`http://${host}${path}`, 'GET'),
      { headers: { 'metadata-flavor': 'Google', 'accept-encoding': 'identity' }, body: '' },
      AbortSignal.timeout(FETCH_TIMEOUT_MS),
      MAX_ANSWER_BYTES,
    ),
  )
}

/** @throws UpstreamFailure: `unauthorized` where the token is refused, with Google's name for why, and none of its words */
async function fetchToken(ask: () => Promise<TextReply>): Promise<Lease<string>> {
  const { status, text } = await ask().catch((thrown: unknown) => {
    if (thrown instanceof UpstreamFailure) throw thrown
    if (thrown instanceof Error && thrown.name === 'TimeoutError') {
      throw new UpstreamFailure('timeout', 'Google gave no access token in time')
    }
    throw fromTransportError(thrown)
  })
  const answer = parseText(text)
  const fields = isObject(answer) ? answer : {}
  const token = readText(fields['access_token'])
  if (status === 200 && token !== undefined) {
    const seconds = fields['expires_in']
    return { value: token, lifetimeMs: typeof seconds === 'number' ? seconds * 1_000 : HOUR_MS }
  }
  const why = /^[a-z_]{1,40}$/.exec(readText(fields['error']) ?? '')?.[0]
  throw new UpstreamFailure(
    status >= 500 || status === 429 ? 'failed' : 'unauthorized',
    `Google gave no access token: ${why ?? `status ${status}`}`,
    { status },
  )
}

const HOUR_MS = 3_600_000
