/** Identity providers, with their secrets encrypted by the vault. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  describeIdentityProvider,
  type IdentityProvider,
  type IdentityProviders,
  type IdentityProviderType,
} from '#signin/register/identity-provider.ts'
import { noteAct } from '../log/acts.ts'
import { requireVault } from '../require-vault.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'

interface ProviderRow {
  readonly name: string
  readonly type: IdentityProviderType
  readonly label: string
  readonly issuer: string
  readonly client_id: string
  readonly sealed_secret: string
  readonly authoritative_for: string
  readonly created_at: Instant
  readonly updated_at: Instant
}

/** Bound to the issuer by authenticated encryption, so that an edited row cannot send the secret elsewhere. */
const place = ({ name, issuer }: { readonly name: string; readonly issuer: string }): string =>
  `identity_providers|secret|${name}|${issuer}|v1`

const toRow = (provider: IdentityProvider) => ({
  ...provider,
  authoritativeFor: JSON.stringify(provider.authoritativeFor),
})

const toProvider = (row: ProviderRow): IdentityProvider => ({
  name: row.name,
  type: row.type,
  label: row.label,
  issuer: row.issuer,
  clientId: row.client_id,
  authoritativeFor: JSON.parse(row.authoritative_for) as string[],
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const findRow = (name: string): Statements<ProviderRow | null> =>
  get('SELECT * FROM identity_providers WHERE name = $name', { name })

function* find(name: string): Statements<IdentityProvider | undefined> {
  const row = yield* findRow(name)
  return row === null ? undefined : toProvider(row)
}

export const createIdentityProviders = (engine: Engine): IdentityProviders => ({
  async add(provider, secret, act) {
    const sealed = requireVault(engine).seal(secret, place(provider))
    await engine.change(function* () {
      const taken = yield* get<ProviderRow>(
        'SELECT * FROM identity_providers WHERE name = $name OR issuer = $issuer',
        { ...provider },
      )
      if (taken) {
        throw new GatewayError(
          'already_exists',
          `there is already an identity provider "${taken.name}" of ${taken.issuer}`,
        )
      }
      yield* run(
        `INSERT INTO identity_providers VALUES ($name, $type, $label, $issuer, $clientId, $sealed, $authoritativeFor,
           $createdAt, $updatedAt)`,
        { ...toRow(provider), sealed },
      )
      yield* noteAct(act)
    })
  },
  find: (name) => engine.read(() => find(name)),
  async list() {
    const rows = await engine.read(() =>
      all<ProviderRow>('SELECT * FROM identity_providers ORDER BY created_at, name'),
    )
    return rows.map(toProvider)
  },
  amend: (name, { secret, ...amendment }, act) =>
    engine.change(function* () {
      const provider = yield* find(name)
      if (provider === undefined) return undefined
      const amended = { ...provider, ...amendment, updatedAt: act.at }
      const sealed =
        secret === undefined ? null : requireVault(engine).seal(secret, place(provider))
      yield* run(
        `UPDATE identity_providers SET label = $label, client_id = $clientId, authoritative_for = $authoritativeFor,
           sealed_secret = coalesce($sealed, sealed_secret), updated_at = $updatedAt
         WHERE name = $name`,
        { ...toRow(amended), sealed },
      )
      yield* noteAct(act, describeIdentityProvider(amended))
      return amended
    }),
  remove: (name, act) =>
    engine.change(function* () {
      // Foreign keys cascade.
      const gone = yield* run('DELETE FROM identity_providers WHERE name = $name', { name })
      if (gone === 0) return false
      yield* noteAct(act)
      return true
    }),
  async secret(name) {
    const row = await engine.read(() => findRow(name))
    if (row) return requireVault(engine).open(row.sealed_secret, place(row))
    throw new GatewayError('provider_not_found', `there is no identity provider "${name}"`)
  },
})
