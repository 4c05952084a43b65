/** Seals: what a client keeps for the gateway and gives back, AES-256-GCM under a key derived from the master key (hardening §4.2). */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export interface Seals {
  /** Base64url. Bound to `place`, so that it cannot be given back in another. */
  seal(text: string, place: string): string
  /** Null where it was sealed under another master key or for another place, or changed since. */
  open(sealed: string, place: string): string | null
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PURPOSE = 'gatewayctl seals v1'

/** Without a master key, as in a test, what is sealed can be opened until the process ends. */
export function openSeals(masterKey: Uint8Array | null): Seals {
  const key =
    masterKey === null
      ? randomBytes(KEY_BYTES)
      : Buffer.from(hkdfSync('sha256', masterKey, '', PURPOSE, KEY_BYTES))
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
      const body = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat([nonce, ...body]).toString('base64url')
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')
        return text + decipher.final('utf8')
      } catch {
        return null
      }
    },
  }
}
