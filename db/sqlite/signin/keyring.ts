/** The keyring in SQLite: signing keys and secrets, encrypted by the vault. */
import type { Instant } from '#domain/clock.ts'
import type { Keyring } from '#signin/register/keyring.ts'
import { requireVault } from '../../require-vault.ts'
import { type KeyRow, keyPlace, openOrNull, secretPlace } from '../../rows/signing-key-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export function createKeyring(connection: Connection): Keyring {
  const { database, commit } = connection
  const table = prepare(database)
  const noteAct = prepareNoteAct(database)

  return {
    async signingKeys() {
      commit.flush()
      const vault = requireVault(connection)
      return table
        .all()
        .all()
        .flatMap((row) => {
          const jwk = openOrNull(vault, row.sealed_jwk, keyPlace(row.id))
          const { id, created_at: createdAt, retired_at: retiredAt } = row
          return jwk === null ? [] : [{ id, jwk, createdAt, retiredAt }]
        })
    },
    async current() {
      return table.current().get()?.id ?? null
    },
    async addSigningKey({ id, jwk, createdAt }, previous, act) {
      const sealed = requireVault(connection).seal(jwk, keyPlace(id))
      return commit.commitDurably(() => {
        if ((table.current().get()?.id ?? null) !== previous) return false
        table.retire().run(createdAt)
        table.insert().run(id, sealed, createdAt)
        if (act !== null) noteAct(act)
        return true
      })
    },
    async secret(name, fresh) {
      const vault = requireVault(connection)
      const place = secretPlace(name)
      const find = (): string | null => {
        const kept = table.secret().get(name)
        return kept && openOrNull(vault, kept.sealed, place)
      }
      const add = (): string => {
        table.keepSecret().run(name, vault.seal(fresh, place))
        return fresh
      }
      return find() ?? commit.commitDurably(() => find() ?? add())
    },
    sweep: (before, limit) => commit.enqueue(() => table.sweep().run(before, limit).changes),
  }
}

function prepare(database: Connection['database']) {
  return {
    all: statement<KeyRow>(
      database,
      'SELECT * FROM signing_keys ORDER BY retired_at IS NOT NULL, created_at DESC',
    ),
    current: statement<{ id: string }>(
      database,
      'SELECT id FROM signing_keys WHERE retired_at IS NULL',
    ),
    retire: statement<unknown, [Instant]>(
      database,
      'UPDATE signing_keys SET retired_at = ? WHERE retired_at IS NULL',
    ),
    insert: statement<unknown, [string, string, Instant]>(
      database,
      'INSERT INTO signing_keys (id, sealed_jwk, created_at) VALUES (?, ?, ?)',
    ),
    secret: statement<{ sealed: string }, [string]>(
      database,
      'SELECT sealed FROM signin_secrets WHERE name = ?',
    ),
    keepSecret: statement<unknown, [string, string]>(
      database,
      'REPLACE INTO signin_secrets (name, sealed) VALUES (?, ?)',
    ),
    sweep: statement<unknown, [Instant, number]>(
      database,
      'DELETE FROM signing_keys WHERE id IN (SELECT id FROM signing_keys WHERE retired_at < ? LIMIT ?)',
    ),
  }
}
