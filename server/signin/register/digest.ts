/** Digests of bearer secrets: only these are stored, so that a leaked database contains no usable credentials. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** SHA-256 in lower-case hexadecimal. */
export const digestOf = (secret: string): string =>
  createHash('sha256').update(secret).digest('hex')

/** Compares two digests in constant time; either may be untrusted text. */
export function sameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** 256 random bits in 43 characters of base64url. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Characters that are not easily confused; each carries five random bits. */
export const randomName = (characters: number): string =>
  Array.from(randomBytes(characters), (byte) => ALPHABET[byte & 31]).join('')
