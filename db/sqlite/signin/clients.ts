/** Clients of the sign-in provider in SQLite. */
import { GatewayError } from '#domain/errors.ts'
import { type Client, type Clients, describeClient } from '#signin/register/client.ts'
import { type ClientRow, toClient, toRow } from '../../rows/client-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareRevocations } from './revocations.ts'

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
