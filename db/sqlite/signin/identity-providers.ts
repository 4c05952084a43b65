/** Identity providers in SQLite, with their secrets encrypted by the vault. */
import { GatewayError } from '#domain/errors.ts'
import {
  describeIdentityProvider,
  type IdentityProvider,
  type IdentityProviders,
} from '#signin/register/identity-provider.ts'
import { requireVault } from '../../require-vault.ts'
import { type ProviderRow, place, toProvider, toRow } from '../../rows/identity-provider-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export function createIdentityProviders(connection: Connection): IdentityProviders {
  const { database, commit } = connection
  const table = prepare(database)
  const noteAct = prepareNoteAct(database)
  const find = (name: string): IdentityProvider | undefined => toProvider(table.byName().get(name))

  return {
    async add(provider, secret, act) {
      const sealed = requireVault(connection).seal(secret, place(provider))
      await commit.commitDurably(() => {
        const taken = table.taken().get(provider.name, provider.issuer)
        if (taken) {
          throw new GatewayError(
            'already_exists',
            `there is already an identity provider "${taken.name}" of ${taken.issuer}`,
          )
        }
        table.insert().run({ ...toRow(provider), sealed })
        noteAct(act)
      })
    },
    async find(name) {
      commit.flush()
      return find(name)
    },
    async list() {
      commit.flush()
      return table
        .all()
        .all()
        .flatMap((row) => toProvider(row) ?? [])
    },
    amend: (name, { secret, ...amendment }, act) =>
      commit.commitDurably(() => {
        const provider = find(name)
        if (provider === undefined) return undefined
        const amended = { ...provider, ...amendment, updatedAt: act.at }
        const sealed =
          secret === undefined ? null : requireVault(connection).seal(secret, place(provider))
        const { label, clientId, authoritativeFor, updatedAt } = toRow(amended)
        table.update().run({ name, label, clientId, authoritativeFor, updatedAt, sealed })
        noteAct(act, describeIdentityProvider(amended))
        return amended
      }),
    remove: (name, act) =>
      commit.commitDurably(() => {
        if (table.remove().run(name).changes === 0) return false
        noteAct(act)
        return true
      }),
    async secret(name) {
      const row = table.byName().get(name)
      if (row) return requireVault(connection).open(row.sealed_secret, place(row))
      throw new GatewayError('provider_not_found', `there is no identity provider "${name}"`)
    },
  }
}

function prepare(database: Connection['database']) {
  return {
    byName: statement<ProviderRow, [string]>(
      database,
      'SELECT * FROM identity_providers WHERE name = ?',
    ),
    taken: statement<ProviderRow, [string, string]>(
      database,
      'SELECT * FROM identity_providers WHERE name = ? OR issuer = ?',
    ),
    all: statement<ProviderRow>(
      database,
      'SELECT * FROM identity_providers ORDER BY created_at, name',
    ),
    insert: statement<unknown, [Named]>(
      database,
      `INSERT INTO identity_providers VALUES ($name, $type, $label, $issuer, $clientId, $sealed, $authoritativeFor,
         $createdAt, $updatedAt)`,
    ),
    update: statement<unknown, [Named]>(
      database,
      `UPDATE identity_providers SET label = $label, client_id = $clientId, authoritative_for = $authoritativeFor,
         sealed_secret = ifnull($sealed, sealed_secret), updated_at = $updatedAt
       WHERE name = $name`,
    ),
    // Foreign keys cascade.
    remove: statement<unknown, [string]>(database, 'DELETE FROM identity_providers WHERE name = ?'),
  }
}
