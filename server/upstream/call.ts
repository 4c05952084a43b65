/** Outgoing requests and incoming answers, as all HTTP provider families share them. */
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Message, Post, Reply } from './reply.ts'
import type { Watchdog } from './watchdog.ts'

declare const GATEWAY_VERSION: string

const USER_AGENT = `gatewayctl/${typeof GATEWAY_VERSION === 'undefined' ? 'dev' : GATEWAY_VERSION}`

/** The header fields of every request to a provider, built once: for whole and for streamed answers. */
export interface ProviderHeaders {
  readonly whole: Message['headers']
  readonly stream: Message['headers']
}

/** `auth` holds the operator's credential; no header of the client is ever forwarded. */
export function toHeaders(
  auth: Readonly<Record<string, string>>,
  contentType = 'application/json',
): ProviderHeaders {
  const whole = {
    'content-type': contentType,
    accept: 'application/json',
    // Compression would delay stream events, and a compressed body could inflate without bound.
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...auth,
  }
  return { whole, stream: { ...whole, accept: 'text/event-stream' } }
}

/** A request and the client that posts it. */
export interface Outgoing extends Message {
  readonly post: Post
}

export const toOutgoing = (
  { requestId, request }: UpstreamCall,
  post: Post,
  { whole, stream }: ProviderHeaders,
  body: Message['body'],
): Outgoing => ({ post, headers: request.stream ? stream : whole, requestId, body })

/** A reply and the watchdog that limits how long reading it may take. */
export interface Answer {
  readonly reply: Reply
  readonly watchdog: Watchdog
}

/**
 * Whether a request must not be retried: one for exactly one attempt (contract §7), and one for an image, which might be drawn
 * and billed twice. It gets a new connection, because an idle one may be closing.
 */
export const isSentOnce = ({ request }: UpstreamCall): boolean =>
  !request.allowFallbacks || request.wantsImages
