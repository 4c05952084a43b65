/** Digests of bearer secrets: only these are stored, so that a leaked database contains no usable credentials. */
// By the runtime's own means: to load `node:crypto` costs a command that opens the store three milliseconds.

/** SHA-256 in lower-case hexadecimal. */
export const digestOf = (secret: string): string =>
  new Bun.CryptoHasher('sha256').update(secret).digest('hex')

/** Compares two digests in constant time; either may be untrusted text. */
export function sameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && crypto.timingSafeEqual(left, right)
}

/** 256 random bits in 43 characters of base64url. */
export const randomSecret = (): string =>
  randomBytes(32).toBase64({ alphabet: 'base64url', omitPadding: true })

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Characters that are not easily confused; each carries five random bits. */
export const randomName = (characters: number): string =>
  Array.from(randomBytes(characters), (byte) => ALPHABET[byte & 31]).join('')

const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))
