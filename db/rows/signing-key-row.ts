/** A signing key, and a secret, as they are kept: encrypted by the vault. */
import type { Instant } from '#domain/clock.ts'
import type { Vault } from '../vault.ts'

export interface KeyRow {
  readonly id: string
  readonly sealed_jwk: string
  readonly created_at: Instant
  readonly retired_at: Instant | null
}

export const keyPlace = (id: string): string => `signing_keys|jwk|${id}|v1`

export const secretPlace = (name: string): string => `signin_secrets|${name}|v1`

/** Values encrypted with another master key are skipped, so that people can sign in with new keys. */
export function openOrNull(vault: Vault, sealed: string, place: string): string | null {
  try {
    return vault.open(sealed, place)
  } catch {
    return null
  }
}
