/** The keyring in SQLite: signing keys and secrets, sealed by the vault before they touch the disk. */
import type { Instant } from '#domain/clock.ts'
import type { Keyring } from '#signin/register/keyring.ts'
import type { Connection } from './connection.ts'
import { demandVault } from './demand-vault.ts'
import { statement } from './statement.ts'

interface KeyRow {
  readonly id: string
  readonly sealed_jwk: string
  readonly created_at: Instant
  readonly retired_at: Instant | null
}

const keyPlace = (id: string): string => `signing_keys|jwk|${id}|v1`
const secretPlace = (name: string): string => `signin_secrets|${name}|v1`

export function createKeyring(connection: Connection): Keyring {
  const { database, commit } = connection
  const table = prepare(database)

  return {
    async signingKeys() {
      commit.flush()
      return table
        .all()
        .all()
        .map((row) => ({
          id: row.id,
          jwk: demandVault(connection).open(row.sealed_jwk, keyPlace(row.id)),
          createdAt: row.created_at,
          retiredAt: row.retired_at,
        }))
    },
    async current() {
      return table.current().get()?.id ?? null
    },
    async addSigningKey({ id, jwk, createdAt }) {
      const sealed = demandVault(connection).seal(jwk, keyPlace(id))
      await commit.act(() => {
        table.retire().run(createdAt)
        table.insert().run(id, sealed, createdAt)
      })
    },
    async secret(name, fresh) {
      const sealed = demandVault(connection).seal(fresh, secretPlace(name))
      const kept = await commit.act(() => {
        table.keepSecret().run(name, sealed)
        return table.secret().get(name)?.sealed ?? sealed
      })
      return demandVault(connection).open(kept, secretPlace(name))
    },
    sweep: (before) =>
      commit.enqueue(() => {
        table.sweep().run(before)
      }),
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
      'INSERT OR IGNORE INTO signin_secrets (name, sealed) VALUES (?, ?)',
    ),
    sweep: statement<unknown, [Instant]>(database, 'DELETE FROM signing_keys WHERE retired_at < ?'),
  }
}
