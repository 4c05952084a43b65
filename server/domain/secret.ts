/** The bearer secret of a key: 256 random bits in base 62 and a checksum, so that a mistyped one needs no look-up. */

declare const brand: unique symbol

/** A well-formed secret: shape and checksum are valid. Only the store knows whether a key has it. */
export type Secret = string & { readonly [brand]: 'secret' }

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'if-'
const BODY_CHARS = 43
const CHECKSUM_CHARS = 6
const SECRET_CHARS = PREFIX.length + BODY_CHARS + CHECKSUM_CHARS

/** CRC-32 (IEEE 802.3) of the text's first characters; secrets are ASCII. */
const crc32 = (text: string, chars: number): number => Bun.hash.crc32(text.slice(0, chars))

function base62(value: bigint, chars: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < chars; i++) {
    text = BASE62[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

function checksum(body: string): string {
  let rest = crc32(body, body.length)
  let text = ''
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = BASE62[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** Whether the checksum at the end is correct; anybody may ask, so it allocates nothing. */
function hasValidChecksum(secret: string): boolean {
  let rest = crc32(secret, SECRET_CHARS - CHECKSUM_CHARS)
  for (let i = 1; i <= CHECKSUM_CHARS; i++) {
    if (secret[SECRET_CHARS - i] !== BASE62[rest % 62]) return false
    rest = Math.floor(rest / 62)
  }
  return true
}

/** Mints a secret: `if-`, 43 base-62 characters of 256 random bits, 6 of CRC-32 over all before (contract §5). */
export function newSecret(): Secret {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const body = PREFIX + base62(value, BODY_CHARS)
  return (body + checksum(body)) as Secret
}

const SHAPE = /^if-[0-9A-Za-z]+$/

/** Reads a token; undefined if its shape or checksum is wrong, which saves a look-up in the database. */
export const readSecret = (token: string): Secret | undefined =>
  token.length === SECRET_CHARS && SHAPE.test(token) && hasValidChecksum(token)
    ? (token as Secret)
    : undefined

/** Whether `text` contains a well-formed secret. Called for client-chosen names, so short texts return at once. */
export function holdsSecret(text: string): boolean {
  if (text.length < SECRET_CHARS) return false
  for (let at = text.indexOf(PREFIX); at !== -1; at = text.indexOf(PREFIX, at + 1)) {
    if (readSecret(text.slice(at, at + SECRET_CHARS)) !== undefined) return true
  }
  return false
}

/** The part of a secret that may be shown: `if-aB3dE6…9xQz`. */
export const labelOf = (secret: Secret): string =>
  `${secret.slice(0, PREFIX.length + 6)}…${secret.slice(-4)}`
