/** Changes of providers in PostgreSQL; their credentials are sealed by the vault before they are sent. */
import type { Amended } from '#domain/act.ts'
import { amendProvider, describeEdit } from '#domain/amend-provider.ts'
import type { Catalogue, Providers } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Provider, StatedCredential } from '#domain/provider.ts'
import { requireVault } from '../../require-vault.ts'
import { providerNotFound } from '../../rows/catalogue-rows.ts'
import { placeOf, type SealedCredential } from '../../rows/credential-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import type { HeldCatalogue } from './catalogue.ts'
import { dropEmptyRoutes, insertModel } from './models.ts'

/** The provider that is edited has changed. */
const CHANGED = Symbol('changed')

const sealAll = (
  database: Database,
  provider: string,
  credentials: readonly StatedCredential[],
): readonly SealedCredential[] =>
  credentials.map(({ name, weight, secret }) => ({
    name,
    weight,
    sealed:
      secret === undefined ? null : requireVault(database).seal(secret, placeOf(provider, name)),
  }))

export function createProviders(database: Database, catalogue: HeldCatalogue): Providers {
  return {
    async add(provider, stated, cards, act) {
      const { name, type, baseUrl, outputBound, learnedBound, createdAt } = provider
      const sealed = sealAll(database, name, stated)
      await catalogue.change(act, undefined, async (changing) => {
        const { tx, version } = changing
        const added = await tx.run(
          `INSERT INTO providers (name, type, base_url, output_bound, learned_bound, created_at, revision)
           VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
          ...[name, type, baseUrl, outputBound, learnedBound, createdAt, version],
        )
        if (added === 0) {
          throw new GatewayError('already_exists', `there is already a provider "${name}"`)
        }
        await writeCredentials(tx, name, sealed)
        for (const card of cards) await insertModel(changing, card)
      })
    },

    async edit(name, amendment, act, expected) {
      await catalogue.refresh()
      requireProvider(catalogue.current(), name)
      const sealed = amendment.credentials && sealAll(database, name, amendment.credentials)
      try {
        return (await catalogue.change(
          act,
          undefined,
          async ({ tx, before: all, version }) => {
            const before = requireProvider(all, name)
            if (expected !== undefined && expected !== before.revision) throw CHANGED
            const after = { ...amendProvider(before, amendment), revision: version }
            const { credentials: _, createdAt: _createdAt, ...row } = after
            await tx.run(
              `UPDATE providers SET type = $type, base_url = $baseUrl, output_bound = $outputBound,
                 learned_bound = $learnedBound, revision = $revision WHERE name = $name`,
              row,
            )
            if (sealed !== undefined) await writeCredentials(tx, name, sealed)
            if (after.type !== before.type) {
              await tx.run('UPDATE models SET catalogued = 0 WHERE provider = ?', name)
            }
            return { before, after }
          },
          (edited) => describeEdit(edited, amendment),
        )) as Amended<Provider>
      } catch (error) {
        if (error === CHANGED) return 'stale'
        throw error
      }
    },

    async learnBound({ name, revision, outputBound, learnedBound }, word) {
      await catalogue.refresh()
      const now = catalogue.current().providers.get(name)
      if (now?.revision !== revision || (outputBound ?? learnedBound) !== null) return
      await catalogue.change(null, undefined, async ({ tx, version }) => {
        await tx.run(
          'UPDATE providers SET learned_bound = ?, revision = ? WHERE name = ? AND revision = ?',
          ...[word, version, name, revision],
        )
      })
    },

    async remove(name, act, expected) {
      const removed = await catalogue.change(act, expected, async ({ tx, before }) => {
        await tx.run('DELETE FROM providers WHERE name = ?', requireProvider(before, name).name)
        await dropEmptyRoutes(tx)
      })
      return removed === 'stale' ? 'stale' : undefined
    },

    async credential(provider, name = null) {
      await catalogue.refresh()
      requireProvider(catalogue.current(), provider)
      const rows = await database.all<{ readonly name: string; readonly sealed: string }>(
        'SELECT name, sealed FROM credentials WHERE provider = ?',
        provider,
      )
      const named = rows.find((row) => row.name === name)
      const found = name === null && rows.length === 1 ? rows[0] : named
      if (found === undefined) return null
      return requireVault(database).open(found.sealed, placeOf(provider, found.name))
    },
  }
}

function requireProvider({ providers }: Catalogue, name: string): Provider {
  const provider = providers.get(name)
  if (provider === undefined) throw providerNotFound(name)
  return provider
}

/** These, and no others. */
async function writeCredentials(
  tx: Sql,
  provider: string,
  credentials: readonly SealedCredential[],
): Promise<void> {
  await tx.run(
    'DELETE FROM credentials WHERE provider = ? AND name <> ALL (?::text[])',
    provider,
    credentials.map(({ name }) => name),
  )
  for (const { name, weight, sealed } of credentials) {
    if (sealed === null) {
      await tx.run(
        'UPDATE credentials SET weight = ? WHERE provider = ? AND name = ?',
        ...[weight, provider, name],
      )
    } else {
      await tx.run(
        `INSERT INTO credentials (provider, name, weight, sealed) VALUES (?, ?, ?, ?)
         ON CONFLICT (provider, name) DO UPDATE SET weight = excluded.weight, sealed = excluded.sealed`,
        ...[provider, name, weight, sealed],
      )
    }
  }
}
