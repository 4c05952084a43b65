/** Identity providers in PostgreSQL, with their secrets encrypted by the vault. */
import { GatewayError } from '#domain/errors.ts'
import {
  describeIdentityProvider,
  type IdentityProvider,
  type IdentityProviders,
} from '#signin/register/identity-provider.ts'
import { requireVault } from '../../require-vault.ts'
import { type ProviderRow, place, toProvider, toRow } from '../../rows/identity-provider-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'

const findRow = (sql: Sql, name: string): Promise<ProviderRow | null> =>
  sql.get<ProviderRow>('SELECT * FROM identity_providers WHERE name = ?', name)

const find = async (sql: Sql, name: string): Promise<IdentityProvider | undefined> =>
  toProvider(await findRow(sql, name))

export const createIdentityProviders = (database: Database): IdentityProviders => ({
  async add(provider, secret, act) {
    const sealed = requireVault(database).seal(secret, place(provider))
    await database.change(async (tx) => {
      const taken = await tx.get<ProviderRow>(
        'SELECT * FROM identity_providers WHERE name = ? OR issuer = ?',
        provider.name,
        provider.issuer,
      )
      if (taken) {
        throw new GatewayError(
          'already_exists',
          `there is already an identity provider "${taken.name}" of ${taken.issuer}`,
        )
      }
      await tx.run(
        `INSERT INTO identity_providers VALUES ($name, $type, $label, $issuer, $clientId, $sealed, $authoritativeFor,
           $createdAt, $updatedAt)`,
        { ...toRow(provider), sealed },
      )
      await noteAct(tx, act)
    })
  },
  find: (name) => find(database, name),
  async list() {
    const rows = await database.all<ProviderRow>(
      'SELECT * FROM identity_providers ORDER BY created_at, name',
    )
    return rows.flatMap((row) => toProvider(row) ?? [])
  },
  amend: (name, { secret, ...amendment }, act) =>
    database.change(async (tx) => {
      const provider = await find(tx, name)
      if (provider === undefined) return undefined
      const amended = { ...provider, ...amendment, updatedAt: act.at }
      const sealed =
        secret === undefined ? null : requireVault(database).seal(secret, place(provider))
      await tx.run(
        `UPDATE identity_providers SET label = $label, client_id = $clientId, authoritative_for = $authoritativeFor,
           sealed_secret = coalesce($sealed, sealed_secret), updated_at = $updatedAt
         WHERE name = $name`,
        { ...toRow(amended), sealed },
      )
      await noteAct(tx, act, describeIdentityProvider(amended))
      return amended
    }),
  remove: (name, act) =>
    database.change(async (tx) => {
      // Foreign keys cascade.
      if ((await tx.run('DELETE FROM identity_providers WHERE name = ?', name)) === 0) return false
      await noteAct(tx, act)
      return true
    }),
  async secret(name) {
    const row = await findRow(database, name)
    if (row) return requireVault(database).open(row.sealed_secret, place(row))
    throw new GatewayError('provider_not_found', `there is no identity provider "${name}"`)
  },
})
