/** The keyring: signing keys and secrets, encrypted by the vault; two nodes that start at once add one. */
import type { Instant } from '#domain/clock.ts'
import type { Keyring } from '#signin/register/keyring.ts'
import { noteAct } from '../log/acts.ts'
import { requireVault } from '../require-vault.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import type { Vault } from '../vault.ts'

interface KeyRow {
  readonly id: string
  readonly sealed_jwk: string
  readonly created_at: Instant
  readonly retired_at: Instant | null
}

const keyPlace = (id: string): string => `signing_keys|jwk|${id}|v1`

const secretPlace = (name: string): string => `signin_secrets|${name}|v1`

/** Values encrypted with another master key are skipped, so that people can sign in with new keys. */
function openOrNull(vault: Vault, sealed: string, place: string): string | null {
  try {
    return vault.open(sealed, place)
  } catch {
    return null
  }
}

function* current(): Statements<string | null> {
  const row = yield* get<{ id: string }>('SELECT id FROM signing_keys WHERE retired_at IS NULL')
  return row?.id ?? null
}

function* findSecret(vault: Vault, name: string): Statements<string | null> {
  const kept = yield* get<{ sealed: string }>(
    'SELECT sealed FROM signin_secrets WHERE name = $name',
    { name },
  )
  return kept && openOrNull(vault, kept.sealed, secretPlace(name))
}

function* addSecret(vault: Vault, name: string, fresh: string): Statements<string> {
  yield* run(
    `INSERT INTO signin_secrets (name, sealed) VALUES ($name, $sealed)
     ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`,
    { name, sealed: vault.seal(fresh, secretPlace(name)) },
  )
  return fresh
}

export const createKeyring = (engine: Engine): Keyring => ({
  async signingKeys() {
    const vault = requireVault(engine)
    const rows = await engine.read(() =>
      all<KeyRow>('SELECT * FROM signing_keys ORDER BY retired_at IS NOT NULL, created_at DESC'),
    )
    return rows.flatMap((row) => {
      const jwk = openOrNull(vault, row.sealed_jwk, keyPlace(row.id))
      const { id, created_at: createdAt, retired_at: retiredAt } = row
      return jwk === null ? [] : [{ id, jwk, createdAt, retiredAt }]
    })
  },
  current: () => engine.read(current),
  async addSigningKey({ id, jwk, createdAt }, previous, act) {
    const sealed = requireVault(engine).seal(jwk, keyPlace(id))
    return await engine.change(function* () {
      if ((yield* current()) !== previous) return false
      yield* run('UPDATE signing_keys SET retired_at = $createdAt WHERE retired_at IS NULL', {
        createdAt,
      })
      yield* run(
        'INSERT INTO signing_keys (id, sealed_jwk, created_at) VALUES ($id, $sealed, $createdAt)',
        { id, sealed, createdAt },
      )
      if (act !== null) yield* noteAct(act)
      return true
    })
  },
  async secret(name, fresh) {
    const vault = requireVault(engine)
    const kept = await engine.read(() => findSecret(vault, name))
    return (
      kept ??
      (await engine.change(function* () {
        return (yield* findSecret(vault, name)) ?? (yield* addSecret(vault, name, fresh))
      }))
    )
  },
  sweep: (before, limit) =>
    engine.run(
      `DELETE FROM signing_keys WHERE id IN
         (SELECT id FROM signing_keys WHERE retired_at < $before LIMIT $limit)`,
      { before, limit },
    ),
})
