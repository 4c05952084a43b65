/** Signs the cookies of the sign-in provider, in place of the library's own signer, which calls what the runtime warns of. */
import { createHmac } from 'node:crypto'
import { sameDigest } from './register/digest.ts'

export interface CookieSigner {
  sign(cookie: string): string
  /** 0 if the signature is valid, else -1. */
  index(cookie: string, signature: string): number
}

/** HMAC-SHA1 in base64url, as the library signs: its cookies stay valid. */
export function cookieSigner(key: string): CookieSigner {
  const sign = (cookie: string): string =>
    createHmac('sha1', key).update(cookie).digest('base64url')
  return {
    sign,
    index: (cookie, signature) => (sameDigest(sign(cookie), signature) ? 0 : -1),
  }
}
