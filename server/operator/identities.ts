/** Verbs for identity providers: third parties that people can sign in with (hardening §3.2). */

import * as z from 'zod/mini'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { definedIn } from '#domain/stated.ts'
import { nameField } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import type { Identity } from '#signin/register/identity.ts'
import {
  callbackPath,
  describeIdentityProvider,
  IDENTITY_PRESETS,
  IDENTITY_PROVIDER_TYPES,
  type IdentityPreset,
  type IdentityProvider,
  type IdentityProviderType,
  isLoopbackHttp,
} from '#signin/register/identity-provider.ts'
import type { OperatorDeps } from './deps.ts'
import {
  clientIdField,
  domainsField,
  issuerField,
  providerNameField,
  secretField,
} from './identity-fields.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface IdentityProviderRecord {
  readonly name: string
  readonly type: string
  readonly label: string
  readonly issuer: string
  readonly client_id: string
  readonly authoritative_for: readonly string[]
  /** The number of people who sign in with it. */
  readonly people: number
  /** The callback URL to register there, at the address of the running server, else as configured. Null if sign-in is off. */
  readonly callback_url: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly warnings: readonly string[]
}

async function report(
  deps: OperatorDeps,
  provider: IdentityProvider,
): Promise<IdentityProviderRecord> {
  const { store, live } = deps
  const authUrl = live?.authUrl ?? null
  return {
    name: provider.name,
    type: provider.type,
    label: provider.label,
    issuer: provider.issuer,
    client_id: provider.clientId,
    authoritative_for: provider.authoritativeFor,
    people: await store.signin.identities.countPeople(provider.issuer),
    callback_url: authUrl && authUrl + callbackPath(provider.name),
    created_at: renderInstant(provider.createdAt),
    updated_at: renderInstant(provider.updatedAt),
    warnings: warningsOf(provider),
  }
}

const warningsOf = ({ issuer }: IdentityProvider): readonly string[] =>
  isLoopbackHttp(new URL(issuer))
    ? ['without TLS it serves only while people sign in on this very machine without it, too']
    : []

/**
 * A caller that leaves out the secret learns first what else is wrong. @throws invalid_request, with param `secret` where only
 * that is missing; already_exists, internal_error without a master key
 */
export const addIdentityProvider = mutation(
  'identities.add',
  z.strictObject({
    name: providerNameField,
    type: z.optional(z.enum(IDENTITY_PROVIDER_TYPES)),
    issuer: z.optional(issuerField),
    client_id: clientIdField,
    secret: z.optional(secretField),
    label: z.optional(nameField),
    authoritative_for: z._default(domainsField, []),
  }),
  async (deps, input, act) => {
    const at = deps.clock.now()
    const preset = presetFor(input)
    const provider: IdentityProvider = {
      ...preset,
      name: input.name,
      label: input.label ?? preset.label,
      clientId: input.client_id,
      authoritativeFor: input.authoritative_for,
      createdAt: at,
      updatedAt: at,
    }
    if (input.secret === undefined) throw await withoutSecret(deps, provider)
    const added = act(provider.name, describeIdentityProvider(provider))
    await deps.store.signin.identityProviders.add(provider, input.secret, added)
    return report(deps, provider)
  },
)

/** What is wrong without a secret; the store refuses a taken name or issuer only once there is one. */
async function withoutSecret(
  { store }: OperatorDeps,
  { name, issuer }: IdentityProvider,
): Promise<GatewayError> {
  const taken = (await store.signin.identityProviders.list()).find(
    (other) => other.name === name || other.issuer === issuer,
  )
  return taken === undefined
    ? invalidInput('secret', 'must be given')
    : new GatewayError(
        'already_exists',
        `there is already an identity provider "${taken.name}" of ${taken.issuer}`,
      )
}

/** Derives the preset from name, type and issuer; each may be absent when the others determine it. */
function presetFor({
  name,
  type,
  issuer,
}: {
  readonly name: string
  readonly type?: IdentityProviderType | undefined
  readonly issuer?: string | undefined
}): IdentityPreset {
  const known = IDENTITY_PRESETS[type === 'github' ? 'github' : name]
  const fits = known !== undefined && (type === undefined || type === known.type)
  if (fits) return { ...known, issuer: issuer ?? known.issuer }
  if (issuer !== undefined) return { type: type ?? 'oidc', issuer, label: name }
  const names = Object.keys(IDENTITY_PRESETS)
  throw new GatewayError(
    'invalid_request',
    `"${name}" is not known by name, so its issuer must be stated${suggest(name, names)}`,
    { param: 'issuer', hint: `--issuer https://sso.example.org, or one of ${names.join(', ')}` },
  )
}

/** In the order of the buttons on the sign-in page. */
export const listIdentityProviders = verb(z.strictObject({}), async (deps) =>
  Promise.all(
    (await deps.store.signin.identityProviders.list()).map((provider) => report(deps, provider)),
  ),
)

const byName = z.strictObject({ name: z.string() })

/** @throws provider_not_found */
export const showIdentityProvider = verb(byName, async (deps, { name }) =>
  report(deps, await findIdentityProvider(deps, name)),
)

/** Absent fields stay unchanged; name, type and issuer cannot be changed. @throws provider_not_found, invalid_request */
export const editIdentityProvider = mutation(
  'identities.edit',
  z.strictObject({
    name: z.string(),
    label: z.optional(nameField),
    client_id: z.optional(clientIdField),
    authoritative_for: z.optional(domainsField),
    secret: z.optional(secretField),
  }),
  async (deps, input, act) => {
    const provider = await findIdentityProvider(deps, input.name)
    const amended = await deps.store.signin.identityProviders.amend(
      provider.name,
      definedIn({
        label: input.label,
        clientId: input.client_id,
        authoritativeFor: input.authoritative_for,
        secret: input.secret,
      }),
      act(provider.name, input.secret === undefined ? {} : { secret: 'new' }),
    )
    if (amended === undefined) throw notFound(input.name, [])
    return report(deps, amended)
  },
)

/** Removes the links between people and their identities there too. @throws provider_not_found */
export const removeIdentityProvider = mutation(
  'identities.remove',
  byName,
  async (deps, { name }, act) => {
    const provider = await report(deps, await findIdentityProvider(deps, name))
    const { issuer, people } = provider
    const removed = act(name, { issuer, people, removed: true })
    await deps.store.signin.identityProviders.remove(name, removed)
    return { ...provider, removed: true }
  },
)

/** @throws provider_not_found */
export async function findIdentityProvider(
  { store }: OperatorDeps,
  name: string,
): Promise<IdentityProvider> {
  const { identityProviders } = store.signin
  const provider = await identityProviders.find(name)
  if (provider !== undefined) return provider
  const names = (await identityProviders.list()).map((other) => other.name)
  throw notFound(name, names)
}

const notFound = (name: string, known: readonly string[]): GatewayError =>
  new GatewayError(
    'provider_not_found',
    `no identity provider is called "${name}"${suggest(name, known)}`,
    { hint: 'gatewayctl identities list' },
  )

/** A person's identity at an identity provider. */
export interface IdentityRecord {
  /** The name of the identity provider. */
  readonly provider: string
  readonly label: string
  readonly subject: string
  /** The person's name there at the last sign-in; not verified. */
  readonly name: string | null
  readonly linked_at: string
  readonly last_used_at: string
}

/** Oldest first. */
export async function identitiesOf(
  { store }: OperatorDeps,
  personId: Identity['personId'],
): Promise<readonly IdentityRecord[]> {
  const { identities, identityProviders } = store.signin
  const providers = new Map(
    (await identityProviders.list()).map((provider) => [provider.issuer, provider]),
  )
  return (await identities.ofPerson(personId)).map((identity) => ({
    provider: providers.get(identity.issuer)?.name ?? identity.issuer,
    label: providers.get(identity.issuer)?.label ?? identity.issuer,
    subject: identity.subject,
    name: identity.claimedName,
    linked_at: renderInstant(identity.linkedAt),
    last_used_at: renderInstant(identity.lastUsedAt),
  }))
}
