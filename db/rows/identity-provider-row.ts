/** An identity provider as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { IdentityProvider, IdentityProviderType } from '#signin/register/identity-provider.ts'

export interface ProviderRow {
  readonly name: string
  readonly type: IdentityProviderType
  readonly label: string
  readonly issuer: string
  readonly client_id: string
  readonly sealed_secret: string
  readonly authoritative_for: string
  readonly created_at: Instant
  readonly updated_at: Instant
}

/** Bound to the issuer by authenticated encryption, so that an edited row cannot send the secret elsewhere. */
export const place = ({
  name,
  issuer,
}: {
  readonly name: string
  readonly issuer: string
}): string => `identity_providers|secret|${name}|${issuer}|v1`

export const toRow = (provider: IdentityProvider) => ({
  ...provider,
  authoritativeFor: JSON.stringify(provider.authoritativeFor),
})

export const toProvider = (row: ProviderRow | null): IdentityProvider | undefined =>
  row === null
    ? undefined
    : {
        name: row.name,
        type: row.type,
        label: row.label,
        issuer: row.issuer,
        clientId: row.client_id,
        authoritativeFor: JSON.parse(row.authoritative_for) as string[],
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      }
