/** The caller: the key behind the one bearer secret, looked up on every request so that a revocation holds at once. */
import type { Instant } from '#domain/clock.ts'
import { type ErrorCode, GatewayError } from '#domain/errors.ts'
import { type ApiKey, type KeyStatus, type Keys, keyStatus } from '#domain/key.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import { holdsSecret, readSecret } from '#domain/secret.ts'

const BEARER = /^bearer +(\S.*)$/i

const REASONS: Readonly<Record<Exclude<KeyStatus, 'active'>, readonly [ErrorCode, string]>> = {
  revoked: ['api_key_revoked', 'this API key was revoked'],
  expired: ['api_key_expired', 'this API key has expired'],
  disabled: ['api_key_disabled', 'this API key is disabled'],
}

/**
 * The key behind the secret, whatever its state. A secret anywhere but in `Authorization: Bearer` is no secret; two such
 * headers arrive joined and are no secret either.
 * @throws missing_api_key, invalid_api_key (contract §3)
 */
export function findCaller(request: Request, keys: Keys, at: Instant): MaybePromise<ApiKey> {
  const token = readToken(request.headers.get('authorization') ?? '')
  if (token === undefined) {
    throw new GatewayError(
      'missing_api_key',
      'send your API key in one header, as "Authorization: Bearer if-..."',
    )
  }
  const secret = readSecret(token)
  const key = secret && keys.findBySecret(secret, at)
  return key instanceof Promise ? requireKeyLater(key) : requireKey(key)
}

const requireKeyLater = async (key: Promise<ApiKey | undefined>): Promise<ApiKey> =>
  requireKey(await key)

function requireKey(key: ApiKey | undefined): ApiKey {
  if (!key) throw new GatewayError('invalid_api_key', 'there is no such API key')
  return key
}

const USUAL_PREFIX = 'Bearer if-'

/** The spelling of every client library needs no pattern. */
const readToken = (header: string): string | undefined =>
  header.startsWith(USUAL_PREFIX) ? header.slice('Bearer '.length) : BEARER.exec(header)?.[1]

/** Most of a key, with whatever stands behind it. */
const LIKE_KEY = /^if-(?:pk-)?[0-9A-Za-z]{24}/

/** Refuses a field that holds an API key, so that no answer and no log repeats it. @throws invalid_request */
export function rejectKeyLike(text: string, param: string): void {
  if (LIKE_KEY.test(text) || holdsSecret(text)) throw misplacedKey(param)
}

/** The same for a name of a client's own choice, which may begin like a key and be none. @throws invalid_request */
export function rejectWholeKey(text: string, param: string): void {
  if (holdsSecret(text)) throw misplacedKey(param)
}

const misplacedKey = (param: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `${param} holds an API key; its only place is the Authorization header`,
    { param },
  )

/** @throws api_key_revoked, api_key_expired, api_key_disabled */
export function requireActive(key: ApiKey, at: Instant): void {
  const status = keyStatus(key, at)
  if (status === 'active') return
  throw new GatewayError(...REASONS[status], {
    metadata: { limit: 'status', limit_value: 'active', used: status, resets_at: null },
  })
}
