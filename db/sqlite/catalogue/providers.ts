/** Changes of providers in SQLite; their credentials are sealed by the vault before they touch the disk. */
import type { Amended } from '#domain/act.ts'
import { amendProvider, describeEdit } from '#domain/amend-provider.ts'
import type { Providers } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import type { BoundWord, Provider } from '#domain/provider.ts'
import { providerNotFound } from '../../rows/catalogue-rows.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import type { HeldCatalogue } from './catalogue.ts'
import { openCredentialTable } from './credentials.ts'
import { openModelTable } from './models.ts'
import { openRouteTable } from './routes.ts'

export function createProviders(connection: Connection, catalogue: HeldCatalogue): Providers {
  const { database } = connection
  const models = openModelTable(database, catalogue)
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO providers (name, type, base_url, output_bound, learned_bound, created_at, revision)
     VALUES ($name, $type, $baseUrl, $outputBound, $learnedBound, $createdAt, $revision)
     ON CONFLICT (name) DO NOTHING`,
  )
  const update = statement<unknown, [Named]>(
    database,
    `UPDATE providers SET type = $type, base_url = $baseUrl, output_bound = $outputBound,
       learned_bound = $learnedBound, revision = $revision WHERE name = $name`,
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
  const credentials = openCredentialTable(connection)

  const requireProvider = (name: string): Provider => {
    const provider = catalogue.current().providers.get(name)
    if (provider === undefined) throw providerNotFound(name)
    return provider
  }

  return {
    async add(provider, stated, cards, act) {
      const { name, type, baseUrl, outputBound, learnedBound, createdAt } = provider
      const row = { name, type, baseUrl, outputBound, learnedBound, createdAt }
      const sealed = credentials.seal(name, stated)
      await catalogue.change(act, (revision) => {
        if (insert().run({ ...row, revision }).changes === 0) {
          throw new GatewayError('already_exists', `there is already a provider "${name}"`)
        }
        credentials.write(name, sealed)
        for (const card of cards) models.insert(card)
      })
    },
    async edit(name, amendment, act, expected) {
      if (expected !== undefined && expected !== requireProvider(name).revision) return 'stale'
      const sealed = amendment.credentials && credentials.seal(name, amendment.credentials)
      const write = (revision: number): Amended<Provider> => {
        const before = requireProvider(name)
        const after = { ...amendProvider(before, amendment), revision }
        const { credentials: _, createdAt: _createdAt, ...row } = after
        update().run(row)
        if (sealed !== undefined) credentials.write(name, sealed)
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
    async credential(provider, name = null) {
      return credentials.open(requireProvider(provider).name, name)
    },
  }
}
