/** The keyring: the keys that sign ID tokens, and the secrets of the sign-in provider; sealed wherever they are kept. */
import type { Instant } from '#domain/clock.ts'

export interface SigningKey {
  readonly id: string
  /** A private RSA key as a JSON Web Key (RFC 7517), in JSON. */
  readonly jwk: string
  readonly createdAt: Instant
  /** Since when it signs no more; what it signed can still be verified. */
  readonly retiredAt: Instant | null
}

export interface Keyring {
  /** Newest first: the first one signs. Those that another master key sealed are passed over. */
  signingKeys(): Promise<readonly SigningKey[]>
  /** The id of the key that signs; asked on every request, so that a rotation holds from the next one. */
  current(): Promise<string | null>
  /** Makes it the one that signs, and retires the one that did. */
  addSigningKey(key: SigningKey): Promise<void>
  /** The kept secret of that name; where none can be read, `fresh` is kept. */
  secret(name: SecretName, fresh: string): Promise<string>
  /** Forgets keys that retired before `before`. */
  sweep(before: Instant): Promise<void>
}

/** What signs cookies, what codes are hashed with, and what the secrets of a way to a third party are drawn from. */
export type SecretName = 'cookies' | 'mail-codes' | 'identities'
