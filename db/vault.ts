/** The vault: providers' credentials and secrets of webhooks at rest, AES-256-GCM under a key derived from the master key (hardening §4.2). */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { GatewayError } from '#domain/errors.ts'

const MASTER_KEY_BYTES = 32

export interface Vault {
  /** Which master key it has, as `seal` notes it. */
  readonly keyId: string
  /** `v1.<key id>.<nonce>.<ciphertext and tag>`, bound to `place` so that a row cannot be moved to another. */
  seal(plaintext: string, place: string): string
  /** @throws internal_error when it was sealed under another master key or changed since */
  open(sealed: string, place: string): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const PURPOSE = 'gatewayctl credentials v1'

/** Opens the vault with 32 bytes that live outside the database. */
export function openVault(masterKey: Uint8Array): Vault {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new GatewayError('internal_error', `the master key must be ${MASTER_KEY_BYTES} bytes`)
  }
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', PURPOSE, 32))
  const keyId = createHash('sha256').update(key).digest('hex').slice(0, 8)

  return {
    keyId,
    seal(plaintext, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
      const sealed = Buffer.concat([
        cipher.update(plaintext, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      return ['v1', keyId, nonce.toString('base64url'), sealed.toString('base64url')].join('.')
    },
    open(sealed, place) {
      const [version, sealedBy, nonce, body] = sealed.split('.')
      if (version !== 'v1' || sealedBy !== keyId || !nonce || !body) throw unreadable()
      const bytes = Buffer.from(body, 'base64url')
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'))
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        return (
          decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
        )
      } catch {
        throw unreadable()
      }
    },
  }
}

const unreadable = (): GatewayError =>
  new GatewayError('internal_error', 'a stored credential cannot be read with this master key', {
    hint: 'put the master key back that sealed it; gatewayctl doctor says what else helps',
  })
