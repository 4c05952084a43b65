/** Input fields for the addresses of low-balance notices: e-mail and webhook, without anything that could inject headers. */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import { readAs } from '#forms/fields.ts'
import { invalidInput } from './verb.ts'

const MAX_EMAIL_CHARS = 254
const MAX_LOCAL_CHARS = 64
const MAX_URL_CHARS = 2_048

/** Letters of any script, and the ASCII signs that need no quotes (RFC 5321, RFC 6531). */
const LOCAL = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN =
  /^[\p{L}\p{N}]([\p{L}\p{N}-]*[\p{L}\p{N}])?(\.[\p{L}\p{N}]([\p{L}\p{N}-]*[\p{L}\p{N}])?)*$/u

function readEmail(text: string): string | undefined {
  const at = text.lastIndexOf('@')
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  const fits = text.length <= MAX_EMAIL_CHARS && local.length <= MAX_LOCAL_CHARS
  return at > 0 && fits && LOCAL.test(local) && DOMAIN.test(domain) ? text : undefined
}

/** A plain address: no display name, no quotes, no white space. */
export const emailField = readAs(readEmail, 'an e-mail address such as "ops@example.org"')

/**
 * The normalised URL. Whether its IP address is allowed is checked at each delivery, after name resolution.
 * @throws invalid_request
 */
export function readWebhookUrl(
  text: string,
  allowsLoopback: boolean,
  field = 'webhook_url',
): string {
  const wrong = (expected: string) => invalidInput(field, expected)
  const url = text.length <= MAX_URL_CHARS ? parseAbsoluteUrl(text) : null
  if (url === null) {
    throw wrong(
      `must be an address such as https://hooks.example.org/, of at most ${MAX_URL_CHARS} characters`,
    )
  }
  if (url.username !== '' || url.password !== '') throw wrong('must not carry a user or a password')
  if (url.hash !== '') throw wrong('must not carry a fragment')
  const isLocal = url.protocol === 'http:' && isLoopbackHost(url.hostname)
  if (url.protocol === 'https:' || (isLocal && allowsLoopback)) return url.href
  throw wrong(
    isLocal
      ? 'must begin with https:// ; http to this machine needs GATEWAY_ALLOW_LOOPBACK_WEBHOOKS=1'
      : 'must begin with https://',
  )
}
