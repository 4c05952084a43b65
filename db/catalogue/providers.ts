/** Changes of providers; their credentials are sealed by the vault before they leave the process. */
import type { Amended } from '#domain/act.ts'
import { amendProvider, describeEdit } from '#domain/amend-provider.ts'
import type { Catalogue, Providers } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  type Credential,
  DEFAULT_CREDENTIAL,
  type Provider,
  type StatedCredential,
} from '#domain/provider.ts'
import { requireVault } from '../require-vault.ts'
import { providerNotFound } from '../rows/catalogue-rows.ts'
import { all, type Engine, run, type Statements } from '../statements.ts'
import type { HeldCatalogue } from './held.ts'
import { insertModel } from './models.ts'
import { dropEmptyRoutes } from './routes.ts'

/** The provider that is edited has changed. */
const CHANGED = Symbol('changed')

/** Where a text was sealed for: it opens nowhere else. */
const placeOf = (provider: string, name: string): string =>
  name === DEFAULT_CREDENTIAL
    ? `providers|credential|${provider}|v1`
    : `providers|credential|${provider}/${name}|v1`

/** A credential whose secret is sealed; null: it keeps the one that it has. */
interface SealedCredential extends Credential {
  readonly sealed: string | null
}

const sealAll = (
  engine: Engine,
  provider: string,
  credentials: readonly StatedCredential[],
): readonly SealedCredential[] =>
  credentials.map(({ name, weight, secret }) => ({
    name,
    weight,
    sealed:
      secret === undefined ? null : requireVault(engine).seal(secret, placeOf(provider, name)),
  }))

export const createProviders = (engine: Engine, catalogue: HeldCatalogue): Providers => ({
  async add(provider, stated, cards, act) {
    const { name } = provider
    const sealed = sealAll(engine, name, stated)
    await catalogue.change(act, undefined, function* (changing) {
      const added = yield* run(
        `INSERT INTO providers (name, type, base_url, output_bound, learned_bound, created_at, revision)
         VALUES ($name, $type, $baseUrl, $outputBound, $learnedBound, $createdAt, $revision) ON CONFLICT (name) DO NOTHING`,
        { ...provider, revision: changing.version },
      )
      if (added === 0) {
        throw new GatewayError('already_exists', `there is already a provider "${name}"`)
      }
      yield* writeCredentials(name, [], sealed)
      for (const card of cards) yield* insertModel(changing, card)
    })
  },

  async edit(name, amendment, act, expected) {
    await catalogue.refresh()
    requireProvider(catalogue.current(), name)
    const sealed = amendment.credentials && sealAll(engine, name, amendment.credentials)
    try {
      return (await catalogue.change(
        act,
        undefined,
        function* ({ before: all, version }) {
          const before = requireProvider(all, name)
          if (expected !== undefined && expected !== before.revision) throw CHANGED
          const after = { ...amendProvider(before, amendment), revision: version }
          yield* run(
            `UPDATE providers SET type = $type, base_url = $baseUrl, output_bound = $outputBound,
               learned_bound = $learnedBound, revision = $revision WHERE name = $name`,
            { ...after },
          )
          if (sealed !== undefined) yield* writeCredentials(name, before.credentials, sealed)
          if (after.type !== before.type) {
            yield* run('UPDATE models SET catalogued = 0 WHERE provider = $name', { name })
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
    await catalogue.change(null, undefined, ({ version }) =>
      run(
        `UPDATE providers SET learned_bound = $word, revision = $version
         WHERE name = $name AND revision = $revision`,
        { name, revision, word, version },
      ),
    )
  },

  remove: (name, act, expected) =>
    catalogue.change(act, expected, function* ({ before }) {
      requireProvider(before, name)
      yield* run('DELETE FROM providers WHERE name = $name', { name })
      yield* dropEmptyRoutes()
      return undefined
    }),

  async credential(provider, name = null) {
    await catalogue.refresh()
    requireProvider(catalogue.current(), provider)
    const rows = await engine.read(() =>
      all<{ readonly name: string; readonly sealed: string }>(
        'SELECT name, sealed FROM credentials WHERE provider = $provider',
        { provider },
      ),
    )
    const named = rows.find((row) => row.name === name)
    const found = name === null && rows.length === 1 ? rows[0] : named
    if (found === undefined) return null
    return requireVault(engine).open(found.sealed, placeOf(provider, found.name))
  },
})

function requireProvider({ providers }: Catalogue, name: string): Provider {
  const provider = providers.get(name)
  if (provider === undefined) throw providerNotFound(name)
  return provider
}

/** These, and none of those before. */
function* writeCredentials(
  provider: string,
  before: readonly Credential[],
  credentials: readonly SealedCredential[],
): Statements<void> {
  for (const { name } of before) {
    if (credentials.some((one) => one.name === name)) continue
    yield* run('DELETE FROM credentials WHERE provider = $provider AND name = $name', {
      provider,
      name,
    })
  }
  for (const { name, weight, sealed } of credentials) {
    yield* sealed === null
      ? run('UPDATE credentials SET weight = $weight WHERE provider = $provider AND name = $name', {
          provider,
          name,
          weight,
        })
      : run(
          `INSERT INTO credentials (provider, name, weight, sealed) VALUES ($provider, $name, $weight, $sealed)
           ON CONFLICT (provider, name) DO UPDATE SET weight = excluded.weight, sealed = excluded.sealed`,
          { provider, name, weight, sealed },
        )
  }
}
