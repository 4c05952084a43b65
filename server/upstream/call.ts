/** What goes out to a provider and what comes back: the two ends that the HTTP families share. */
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Message, Post, Reply } from './reply.ts'
import type { Watchdog } from './watchdog.ts'

declare const GATEWAY_VERSION: string

const USER_AGENT = `gatewayctl/${typeof GATEWAY_VERSION === 'undefined' ? 'dev' : GATEWAY_VERSION}`

/** The fields of every request to a provider, made once: for an answer that comes whole, and for one that streams. */
export interface ProviderHeaders {
  readonly whole: Message['headers']
  readonly stream: Message['headers']
}

/** `auth` is the operator's; no header of the client's is ever carried over. */
export function toHeaders(
  auth: Readonly<Record<string, string>>,
  contentType = 'application/json',
): ProviderHeaders {
  const whole = {
    'content-type': contentType,
    accept: 'application/json',
    // A compressed event stream arrives in lumps, and a compressed body could inflate without bound.
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...auth,
  }
  return { whole, stream: { ...whole, accept: 'text/event-stream' } }
}

/** What goes out, and where to. */
export interface Outgoing extends Message {
  readonly post: Post
}

/** What goes out for one request. */
export const toOutgoing = (
  { requestId, request }: UpstreamCall,
  post: Post,
  { whole, stream }: ProviderHeaders,
  body: Message['body'],
): Outgoing => ({ post, headers: request.stream ? stream : whole, requestId, body })

/** What comes back, with the watchdog that guards the reading of it. */
export interface Answer {
  readonly reply: Reply
  readonly watchdog: Watchdog
}

/**
 * What may not be sent twice goes out on a connection of its own, which cannot be closing: a request for exactly one attempt
 * (contract §7), and one for a picture, which might be drawn and billed twice.
 */
export const isSentOnce = ({ request }: UpstreamCall): boolean =>
  !request.allowFallbacks || request.wantsImages
