/** Changes of providers in SQLite; their credentials are sealed by the vault before they touch the disk. */
import type { Amended } from '#domain/act.ts'
import { amendProvider, describeEdit } from '#domain/amend-provider.ts'
import type { Providers } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { BoundWord, Provider } from '#domain/provider.ts'
import type { Connection } from '../engine/connection.ts'
import { requireVault } from '../engine/require-vault.ts'
import { type Named, statement } from '../engine/statement.ts'
import { type HeldCatalogue, providerNotFound } from './catalogue.ts'
import { openModelTable } from './models.ts'
import { openRouteTable } from './routes.ts'

const place = (name: string): string => `providers|credential|${name}|v1`

export function createProviders(connection: Connection, catalogue: HeldCatalogue): Providers {
  const { database } = connection
  const models = openModelTable(database, catalogue)
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO providers (name, type, base_url, sealed_credential, output_bound, learned_bound, created_at, revision)
     VALUES ($name, $type, $baseUrl, $sealed, $outputBound, $learnedBound, $createdAt, $revision)
     ON CONFLICT (name) DO NOTHING`,
  )
  const update = statement<unknown, [Named]>(
    database,
    `UPDATE providers SET type = $type, base_url = $baseUrl, output_bound = $outputBound,
       learned_bound = $learnedBound, revision = $revision WHERE name = $name`,
  )
  const seal = statement<unknown, [string | null, string]>(
    database,
    'UPDATE providers SET sealed_credential = ? WHERE name = ?',
  )
  const learn = statement<unknown, [BoundWord, number, string]>(
    database,
    'UPDATE providers SET learned_bound = ?, revision = ? WHERE name = ?',
  )
  const leaveCatalogue = statement<unknown, [string]>(
    database,
    'UPDATE models SET catalogued = 0 WHERE provider = ?',
  )
  const remove = statement<unknown, [string]>(database, 'DELETE FROM providers WHERE name = ?')
  const sealed = statement<{ readonly sealed: string | null }, [string]>(
    database,
    'SELECT sealed_credential AS sealed FROM providers WHERE name = ?',
  )

  const requireProvider = (name: string): Provider => {
    const provider = catalogue.current().providers.get(name)
    if (provider === undefined) throw providerNotFound(name)
    return provider
  }
  const sealFor = (name: string, credential: string | null): string | null =>
    credential === null ? null : requireVault(connection).seal(credential, place(name))

  return {
    async add(provider, credential, cards, act) {
      const { name, type, baseUrl, outputBound, learnedBound, createdAt } = provider
      const row = { name, type, baseUrl, outputBound, learnedBound, createdAt }
      const text = sealFor(name, credential)
      await catalogue.change(act, (revision) => {
        if (insert().run({ ...row, sealed: text, revision }).changes === 0) {
          throw new GatewayError('already_exists', `there is already a provider "${name}"`)
        }
        for (const card of cards) models.insert(card)
      })
    },
    async edit(name, amendment, act, expected) {
      const { credential } = amendment
      if (expected !== undefined && expected !== requireProvider(name).revision) return 'stale'
      const text = sealFor(name, credential ?? null)
      const write = (revision: number): Amended<Provider> => {
        const before = requireProvider(name)
        const after = { ...amendProvider(before, amendment), revision }
        const { hasCredential: _, createdAt: _createdAt, ...row } = after
        update().run(row)
        if (credential !== undefined) seal().run(text, name)
        if (after.type !== before.type) leaveCatalogue().run(name)
        return { before, after }
      }
      return await catalogue.change(act, write, (edited) => describeEdit(edited, amendment))
    },
    async learnBound({ name, revision, outputBound, learnedBound }, word) {
      const now = catalogue.current().providers.get(name)
      if (now?.revision !== revision || (outputBound ?? learnedBound) !== null) return
      await catalogue.change(null, (version) => {
        learn().run(word, version, name)
      })
    },
    async remove(name, act, expected) {
      if (catalogue.isStale(expected)) return 'stale'
      await catalogue.change(act, () => {
        remove().run(requireProvider(name).name)
        openRouteTable(database, catalogue).dropEmpty()
      })
      return undefined
    },
    async credential(name) {
      const row = sealed().get(name)
      if (row === null) throw providerNotFound(name)
      return row.sealed === null ? null : requireVault(connection).open(row.sealed, place(name))
    },
  }
}
