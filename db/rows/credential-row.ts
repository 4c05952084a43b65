/** A credential of a provider as it is kept. */
import { DEFAULT_CREDENTIAL } from '#domain/provider.ts'

/** Where a text was sealed for: it opens nowhere else. */
export const placeOf = (provider: string, name: string): string =>
  name === DEFAULT_CREDENTIAL
    ? `providers|credential|${provider}|v1`
    : `providers|credential|${provider}/${name}|v1`

/** A credential whose secret is sealed; null: it keeps the one that it has. */
export interface SealedCredential {
  readonly name: string
  readonly weight: number
  readonly sealed: string | null
}
