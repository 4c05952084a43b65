/** The keyring in PostgreSQL: signing keys and secrets, encrypted by the vault; two nodes that start at once add one. */
import type { Keyring } from '#signin/register/keyring.ts'
import { requireVault } from '../../require-vault.ts'
import { type KeyRow, keyPlace, openOrNull, secretPlace } from '../../rows/signing-key-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'

const current = async (sql: Sql): Promise<string | null> =>
  (await sql.get<{ id: string }>('SELECT id FROM signing_keys WHERE retired_at IS NULL'))?.id ??
  null

export const createKeyring = (database: Database): Keyring => ({
  async signingKeys() {
    const vault = requireVault(database)
    const rows = await database.all<KeyRow>(
      'SELECT * FROM signing_keys ORDER BY retired_at IS NOT NULL, created_at DESC',
    )
    return rows.flatMap((row) => {
      const jwk = openOrNull(vault, row.sealed_jwk, keyPlace(row.id))
      const { id, created_at: createdAt, retired_at: retiredAt } = row
      return jwk === null ? [] : [{ id, jwk, createdAt, retiredAt }]
    })
  },
  current: () => current(database),
  async addSigningKey({ id, jwk, createdAt }, previous, act) {
    const sealed = requireVault(database).seal(jwk, keyPlace(id))
    return await database.change(async (tx) => {
      if ((await current(tx)) !== previous) return false
      await tx.run('UPDATE signing_keys SET retired_at = ? WHERE retired_at IS NULL', createdAt)
      await tx.run(
        'INSERT INTO signing_keys (id, sealed_jwk, created_at) VALUES (?, ?, ?)',
        id,
        sealed,
        createdAt,
      )
      if (act !== null) await noteAct(tx, act)
      return true
    })
  },
  async secret(name, fresh) {
    const vault = requireVault(database)
    const place = secretPlace(name)
    const find = async (sql: Sql): Promise<string | null> => {
      const kept = await sql.get<{ sealed: string }>(
        'SELECT sealed FROM signin_secrets WHERE name = ?',
        name,
      )
      return kept && openOrNull(vault, kept.sealed, place)
    }
    const add = async (tx: Sql): Promise<string> => {
      await tx.run(
        `INSERT INTO signin_secrets (name, sealed) VALUES (?, ?)
         ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`,
        name,
        vault.seal(fresh, place),
      )
      return fresh
    }
    return (
      (await find(database)) ??
      (await database.change(async (tx) => (await find(tx)) ?? (await add(tx))))
    )
  },
  sweep: (before, limit) =>
    database.run(
      'DELETE FROM signing_keys WHERE id IN (SELECT id FROM signing_keys WHERE retired_at < ? LIMIT ?)',
      before,
      limit,
    ),
})
