/** Clients of the sign-in provider in PostgreSQL. */
import { GatewayError } from '#domain/errors.ts'
import { type Client, type Clients, describeClient } from '#signin/register/client.ts'
import { type ClientRow, toClient, toRow } from '../../rows/client-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { revoke } from './revocations.ts'

async function find(sql: Sql, id: string): Promise<Client | undefined> {
  const row = await sql.get<ClientRow>('SELECT * FROM clients WHERE id = ?', id)
  return row === null ? undefined : toClient(row)
}

export const createClients = (database: Database): Clients => ({
  create: (client, act) =>
    database.change(async (tx) => {
      if (await find(tx, client.id)) {
        throw new GatewayError('already_exists', `there is already a client "${client.id}"`)
      }
      await tx.run(
        `INSERT INTO clients (id, name, redirect_uris, logout_uris, requires_pkce, secret_sha256, created_at, updated_at, allowed,
           for_devices, backchannel_logout_uri, id_token_claims)
         VALUES ($id, $name, $redirectUris, $logoutUris, $requiresPkce, $secretDigest, $createdAt, $updatedAt, $allowed, $isForDevices,
           $backchannelLogoutUri, $hasIdTokenClaims)`,
        toRow(client),
      )
      await noteAct(tx, act)
    }),
  find: (id) => find(database, id),
  async count() {
    return (await database.get<{ n: number }>('SELECT count(*) AS n FROM clients'))?.n ?? 0
  },
  async list() {
    const rows = await database.all<ClientRow>('SELECT * FROM clients ORDER BY created_at, id')
    return rows.map(toClient)
  },
  amend: (id, amendment, act) =>
    database.change(async (tx) => {
      const client = await find(tx, id)
      if (client === undefined) return undefined
      const amended = { ...client, ...amendment, updatedAt: act.at }
      await tx.run(
        `UPDATE clients SET name = $name, redirect_uris = $redirectUris, logout_uris = $logoutUris,
           requires_pkce = $requiresPkce, secret_sha256 = $secretDigest, updated_at = $updatedAt, allowed = $allowed,
           for_devices = $isForDevices, backchannel_logout_uri = $backchannelLogoutUri, id_token_claims = $hasIdTokenClaims
         WHERE id = $id`,
        toRow(amended),
      )
      await noteAct(tx, act, describeClient(amended))
      return amended
    }),
  remove: (id, act) =>
    database.change(async (tx) => {
      await revoke(tx, id, act.at)
      if ((await tx.run('DELETE FROM clients WHERE id = ?', id)) === 0) return false
      await noteAct(tx, act)
      return true
    }),
})
