/** The keyring: the signing keys of ID tokens and the provider's secrets, encrypted at rest. */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'

export interface SigningKey {
  readonly id: string
  /** A private RSA key as a JSON Web Key (RFC 7517), in JSON. */
  readonly jwk: string
  readonly createdAt: Instant
  /** When it was retired; tokens that it signed can still be verified. */
  readonly retiredAt: Instant | null
}

export interface Keyring {
  /** Newest first: the first one signs. Omits those encrypted with another master key. */
  signingKeys(): Promise<readonly SigningKey[]>
  /** The id of the current signing key; read on every request, so that a rotation applies from the next one. */
  current(): Promise<string | null>
  /**
   * Makes it the current signing key and retires `previous`, the id of the current one. False if another is current. The act is
   * null where nobody rotated: for the first, or in place of one that cannot be read.
   */
  addSigningKey(key: SigningKey, previous: string | null, act: Act | null): Promise<boolean>
  /** The stored secret of that name; if there is no readable one, stores and returns `fresh`. */
  secret(name: SecretName, fresh: string): Promise<string>
  /** Removes keys that were retired before `before`, at most `limit`; returns how many. */
  sweep(before: Instant, limit: number): Promise<number>
}

/** Secrets for signing cookies, for hashing codes, and for deriving nonce and PKCE verifier of logins at third parties. */
export type SecretName = 'cookies' | 'mail-codes' | 'identities'
