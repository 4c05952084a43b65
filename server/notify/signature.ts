/** Signs a webhook as Standard Webhooks 1.0 says: HMAC-SHA256 over id, time of the try and body. */
import { createHmac } from 'node:crypto'

/** The minimum of the standard. */
const MIN_KEY_BYTES = 24

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/

/** The key of a secret; null if it is malformed or too short. */
export function readSecret(secret: string): Uint8Array | null {
  const key = Buffer.from(SECRET.exec(secret)?.[1] ?? '', 'base64')
  return key.length < MIN_KEY_BYTES ? null : key
}

/** The value of `webhook-signature`. */
export const sign = (key: Uint8Array, id: string, unixSeconds: number, body: string): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${unixSeconds}.${body}`).digest('base64')}`
