/** Clients of the sign-in provider in SQLite. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type Client, type Clients, describeClient } from '#signin/register/client.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareRevocations } from './revocations.ts'

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

export function createClients({ database, commit }: Connection): Clients {
  const byId = statement<ClientRow, [string]>(database, 'SELECT * FROM clients WHERE id = ?')
  const all = statement<ClientRow>(database, 'SELECT * FROM clients ORDER BY created_at, id')
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO clients (id, name, redirect_uris, logout_uris, requires_pkce, secret_sha256, created_at, updated_at, allowed, for_devices, backchannel_logout_uri, id_token_claims)
     VALUES ($id, $name, $redirectUris, $logoutUris, $requiresPkce, $secretDigest, $createdAt, $updatedAt, $allowed, $isForDevices, $backchannelLogoutUri, $hasIdTokenClaims)`,
  )
  const update = statement<unknown, [Named]>(
    database,
    `UPDATE clients SET name = $name, redirect_uris = $redirectUris, logout_uris = $logoutUris,
       requires_pkce = $requiresPkce, secret_sha256 = $secretDigest, updated_at = $updatedAt, allowed = $allowed,
       for_devices = $isForDevices, backchannel_logout_uri = $backchannelLogoutUri, id_token_claims = $hasIdTokenClaims
     WHERE id = $id`,
  )
  const remove = statement<unknown, [string]>(database, 'DELETE FROM clients WHERE id = ?')
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)
  const count = statement<{ n: number }>(database, 'SELECT count(*) AS n FROM clients')
  const find = (id: string): Client | undefined => {
    const row = byId().get(id)
    return row === null ? undefined : toClient(row)
  }

  return {
    create: (client, act) =>
      commit.commitDurably(() => {
        if (find(client.id)) {
          throw new GatewayError('already_exists', `there is already a client "${client.id}"`)
        }
        insert().run(toRow(client))
        noteAct(act)
      }),
    async find(id) {
      commit.flush()
      return find(id)
    },
    async count() {
      commit.flush()
      return count().get()?.n ?? 0
    },
    async list() {
      commit.flush()
      return all().all().map(toClient)
    },
    amend: (id, amendment, act) =>
      commit.commitDurably(() => {
        const client = find(id)
        if (client === undefined) return undefined
        const amended = { ...client, ...amendment, updatedAt: act.at }
        const { createdAt: _, ...row } = toRow(amended)
        update().run(row)
        noteAct(act, describeClient(amended))
        return amended
      }),
    remove: (id, act) =>
      commit.commitDurably(() => {
        revocations.revoke(id, act.at)
        if (remove().run(id).changes === 0) return false
        noteAct(act)
        return true
      }),
  }
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
