/** Digests: what is kept of a bearer secret, so that whoever reads the database can use nothing that is in it. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** SHA-256 in lower-case hexadecimal. */
export const digestOf = (secret: string): string =>
  createHash('sha256').update(secret).digest('hex')

/** Compares two digests in a time that does not tell where they part. */
export const sameDigest = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** 256 random bits in 43 characters of base64url. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Characters that survive being read aloud, five random bits each. */
export const randomName = (characters: number): string =>
  Array.from(randomBytes(characters), (byte) => ALPHABET[byte & 31]).join('')
