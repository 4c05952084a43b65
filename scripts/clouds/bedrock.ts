/**
 * A stand-in for Amazon Bedrock: checks the signature or the key of every request, refuses wrong ones as AWS does, and answers
 * with what the vendor's own API says, streams in AWS's framing.
 */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { toMessage } from './event-stream.ts'
import { type AskVendor, type Front, type Seen, startFront } from './front.ts'

export interface BedrockOptions {
  readonly ask: AskVendor
  readonly region?: string
  /** Whose signatures it accepts. */
  readonly service?: 'bedrock' | 'bedrock-mantle'
  /** Secrets by the id of their access key. A key that expires has the token of its session beside it. */
  readonly keys?: Readonly<Record<string, { readonly secret: string; readonly session?: string }>>
  readonly apiKey?: string
  /** The time of the service, which refuses signatures that are more than five minutes away. */
  readonly now?: () => number
}

export function startBedrock(options: BedrockOptions): Front {
  return startFront(async (seen) => {
    const refusal = await checkSender(seen, options)
    if (refusal !== null) return refusal
    const { pathname } = seen.url
    if (pathname === '/foundation-models') return Response.json({ modelSummaries: MODELS })
    if (pathname === '/inference-profiles') {
      return Response.json({ inferenceProfileSummaries: PROFILES })
    }
    const answer = await options.ask(seen)
    const isStream = answer.headers.get('content-type')?.includes('event-stream')
    return isStream && pathname.endsWith('/invoke-with-response-stream')
      ? new Response(reframe(await answer.text()), {
          headers: { 'content-type': 'application/vnd.amazon.eventstream' },
        })
      : answer
  })
}

const MODELS = [
  { modelId: 'anthropic.claude-haiku-4-5-20251001-v1:0' },
  { modelId: 'openai.gpt-oss-120b-1:0' },
]
const PROFILES = [{ inferenceProfileId: 'us.anthropic.claude-haiku-4-5-20251001-v1:0' }]

/** Each server-sent event of the vendor as a chunk. */
function reframe(text: string): Uint8Array {
  const events = text.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block.match(/^data: ?(.*)$/m)?.[1]
    return data === undefined ? [] : [data]
  })
  return Buffer.concat(
    events.map((data) => {
      const payload = { bytes: Buffer.from(data).toString('base64'), p: 'abcdefghijk' }
      return toMessage(
        { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
        JSON.stringify(payload),
      )
    }),
  )
}

export const refuse = (status: number, name: string, message: string): Response =>
  Response.json(
    { message },
    { status, headers: { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/` } },
  )

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

const MAX_SKEW_MS = 300_000

/** Null where the sender may ask. */
async function checkSender(seen: Seen, options: BedrockOptions): Promise<Response | null> {
  const { region = 'us-east-1', service = 'bedrock', keys = {}, apiKey, now = Date.now } = options
  const stated = seen.headers.get('authorization') ?? ''
  if (stated.startsWith('Bearer ')) {
    return stated === `Bearer ${apiKey}`
      ? null
      : refuse(403, 'AccessDeniedException', 'Authentication failed: invalid API key')
  }
  const [, id = '', day, askedRegion, askedService, names = '', signature] =
    AUTHORIZATION.exec(stated) ?? []
  const key = keys[id]
  if (key === undefined) {
    return refuse(403, 'UnrecognizedClientException', 'The security token is invalid.')
  }
  if ((seen.headers.get('x-amz-security-token') ?? undefined) !== key.session) {
    return refuse(403, 'ExpiredTokenException', 'The security token has expired')
  }
  const datetime = seen.headers.get('x-amz-date') ?? ''
  const sentAt = Date.parse(
    datetime.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  )
  if (!(Math.abs(sentAt - now()) <= MAX_SKEW_MS) || day !== datetime.slice(0, 8)) {
    return refuse(403, 'InvalidSignatureException', `Signature expired: ${datetime}`)
  }
  const isBody = seen.headers.get('x-amz-content-sha256') === sha256(seen.bytes)
  const isPlace = askedRegion === region && askedService === service
  return isBody &&
    isPlace &&
    signature === (await sign(seen, { id, ...key }, { names, datetime, region, service }))
    ? null
    : refuse(403, 'InvalidSignatureException', 'The request signature we calculated does not match')
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** By another library than the gateway's. */
async function sign(
  { method, url, headers, bytes }: Seen,
  key: { readonly id: string; readonly secret: string; readonly session?: string },
  stated: Readonly<Record<'names' | 'datetime' | 'region' | 'service', string>>,
): Promise<string> {
  const { names, datetime, region, service } = stated
  const signed = names.split(';').filter((name) => name !== 'host' && name !== 'x-amz-date')
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: signed.map((name) => [name, headers.get(name) ?? ''] as [string, string]),
    body: bytes as Uint8Array<ArrayBuffer>,
    accessKeyId: key.id,
    secretAccessKey: key.secret,
    service,
    region,
    datetime,
    allHeaders: true,
    ...(key.session !== undefined && { sessionToken: key.session }),
  })
  return await signer.signature()
}
