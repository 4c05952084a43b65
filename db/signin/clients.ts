/** Clients of the sign-in provider. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type Client, type Clients, describeClient } from '#signin/register/client.ts'
import { noteAct } from '../log/acts.ts'
import { all, count, type Engine, get, run, type Statements } from '../statements.ts'
import { revoke } from './revocations.ts'

interface ClientRow {
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

const toRow = ({ access, ...client }: Client) => ({
  ...client,
  secretDigest: client.secretDigest ?? NO_SECRET,
  allowed: access === 'everybody' ? null : JSON.stringify(access),
  redirectUris: JSON.stringify(client.redirectUris),
  logoutUris: JSON.stringify(client.logoutUris),
  requiresPkce: Number(client.requiresPkce),
  isForDevices: Number(client.isForDevices),
  hasIdTokenClaims: Number(client.hasIdTokenClaims),
})

const toClient = (row: ClientRow): Client => ({
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

function* find(id: string): Statements<Client | undefined> {
  const row = yield* get<ClientRow>('SELECT * FROM clients WHERE id = $id', { id })
  return row === null ? undefined : toClient(row)
}

export const createClients = (engine: Engine): Clients => ({
  create: (client, act) =>
    engine.change(function* () {
      if (yield* find(client.id)) {
        throw new GatewayError('already_exists', `there is already a client "${client.id}"`)
      }
      yield* run(
        `INSERT INTO clients (id, name, redirect_uris, logout_uris, requires_pkce, secret_sha256, created_at, updated_at, allowed,
           for_devices, backchannel_logout_uri, id_token_claims)
         VALUES ($id, $name, $redirectUris, $logoutUris, $requiresPkce, $secretDigest, $createdAt, $updatedAt, $allowed, $isForDevices,
           $backchannelLogoutUri, $hasIdTokenClaims)`,
        toRow(client),
      )
      yield* noteAct(act)
    }),
  find: (id) => engine.read(() => find(id)),
  count: () => engine.read(() => count('clients')),
  async list() {
    const rows = await engine.read(() =>
      all<ClientRow>('SELECT * FROM clients ORDER BY created_at, id'),
    )
    return rows.map(toClient)
  },
  amend: (id, amendment, act) =>
    engine.change(function* () {
      const client = yield* find(id)
      if (client === undefined) return undefined
      const amended = { ...client, ...amendment, updatedAt: act.at }
      yield* run(
        `UPDATE clients SET name = $name, redirect_uris = $redirectUris, logout_uris = $logoutUris,
           requires_pkce = $requiresPkce, secret_sha256 = $secretDigest, updated_at = $updatedAt, allowed = $allowed,
           for_devices = $isForDevices, backchannel_logout_uri = $backchannelLogoutUri, id_token_claims = $hasIdTokenClaims
         WHERE id = $id`,
        toRow(amended),
      )
      yield* noteAct(act, describeClient(amended))
      return amended
    }),
  remove: (id, act) =>
    engine.change(function* () {
      yield* revoke(id, act.at)
      if ((yield* run('DELETE FROM clients WHERE id = $id', { id })) === 0) return false
      yield* noteAct(act)
      return true
    }),
})
