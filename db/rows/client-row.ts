/** A client of the sign-in provider as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { Client } from '#signin/register/client.ts'

export interface ClientRow {
  readonly id: string
  readonly name: string
  readonly redirect_uris: string
  readonly logout_uris: string
  readonly requires_pkce: number
  readonly secret_sha256: string
  readonly allowed: string | null
  readonly for_devices: number
  readonly backchannel_logout_uri: string | null
  readonly id_token_claims: number
  readonly created_at: Instant
  readonly updated_at: Instant
}

/** In place of the digest of a public client, which no digest equals. */
const NO_SECRET = ''

export const toRow = ({ access, ...client }: Client) => ({
  ...client,
  secretDigest: client.secretDigest ?? NO_SECRET,
  allowed: access === 'everybody' ? null : JSON.stringify(access),
  redirectUris: JSON.stringify(client.redirectUris),
  logoutUris: JSON.stringify(client.logoutUris),
  requiresPkce: Number(client.requiresPkce),
  isForDevices: Number(client.isForDevices),
  hasIdTokenClaims: Number(client.hasIdTokenClaims),
})

export const toClient = (row: ClientRow): Client => ({
  id: row.id,
  name: row.name,
  redirectUris: JSON.parse(row.redirect_uris) as string[],
  logoutUris: JSON.parse(row.logout_uris) as string[],
  requiresPkce: row.requires_pkce === 1,
  access: row.allowed === null ? 'everybody' : (JSON.parse(row.allowed) as string[]),
  secretDigest: row.secret_sha256 === NO_SECRET ? null : row.secret_sha256,
  isForDevices: row.for_devices === 1,
  backchannelLogoutUri: row.backchannel_logout_uri,
  hasIdTokenClaims: row.id_token_claims === 1,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
