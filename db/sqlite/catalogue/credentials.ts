/** Credentials of providers in SQLite, sealed by the vault before they touch the disk. */
import type { StatedCredential } from '#domain/provider.ts'
import { requireVault } from '../../require-vault.ts'
import { placeOf, type SealedCredential } from '../../rows/credential-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

interface CredentialTable {
  seal(provider: string, credentials: readonly StatedCredential[]): readonly SealedCredential[]
  /** In the transaction that is open: these, and no others. */
  write(provider: string, credentials: readonly SealedCredential[]): void
  /** Null where the provider has none of this name, or, without a name, none or several. */
  open(provider: string, name: string | null): string | null
}

export function openCredentialTable(connection: Connection): CredentialTable {
  const { database } = connection
  const drop = statement<unknown, [string, string]>(
    database,
    'DELETE FROM credentials WHERE provider = ? AND name NOT IN (SELECT value FROM json_each(?))',
  )
  const upsert = statement<unknown, [string, string, number, string]>(
    database,
    `INSERT INTO credentials (provider, name, weight, sealed) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET weight = excluded.weight, sealed = excluded.sealed`,
  )
  const weigh = statement<unknown, [number, string, string]>(
    database,
    'UPDATE credentials SET weight = ? WHERE provider = ? AND name = ?',
  )
  const all = statement<{ readonly name: string; readonly sealed: string }, [string]>(
    database,
    'SELECT name, sealed FROM credentials WHERE provider = ?',
  )
  return {
    seal: (provider, credentials) =>
      credentials.map(({ name, weight, secret }) => ({
        name,
        weight,
        sealed:
          secret === undefined
            ? null
            : requireVault(connection).seal(secret, placeOf(provider, name)),
      })),
    write(provider, credentials) {
      drop().run(provider, JSON.stringify(credentials.map(({ name }) => name)))
      for (const { name, weight, sealed } of credentials) {
        if (sealed === null) weigh().run(weight, provider, name)
        else upsert().run(provider, name, weight, sealed)
      }
    },
    open(provider, name) {
      const rows = all().all(provider)
      const found =
        name === null
          ? rows.length === 1
            ? rows[0]
            : undefined
          : rows.find((row) => row.name === name)
      if (found === undefined) return null
      return requireVault(connection).open(found.sealed, placeOf(provider, found.name))
    },
  }
}
