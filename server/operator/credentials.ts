/** Verbs for the credentials of a provider: several share its requests by weight, and each rests alone. Secrets are never shown. */
import * as z from 'zod/mini'
import { untilCurrent } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  type Credential,
  isProviderName,
  type Provider,
  type StatedCredential,
} from '#domain/provider.ts'
import { suggest } from '#forms/nearest.ts'
import { checkCredential, credentialField } from './credential.ts'
import type { OperatorDeps } from './deps.ts'
import { type HealthRecord, renderHealth, worstOf } from './hop-record.ts'
import { findProvider } from './providers.ts'
import { type DraftAct, invalidInput, mutation, verb } from './verb.ts'

export interface CredentialRecord {
  readonly name: string
  /** Its share of the provider's requests. */
  readonly weight: number
  /** Null while no server runs. A resting one is asked after all others. */
  readonly health: HealthRecord | null
}

export interface CredentialsRecord {
  readonly provider: string
  /** In the order of names; empty for one that needs none. */
  readonly credentials: readonly CredentialRecord[]
}

function report(
  { live }: OperatorDeps,
  { name: provider, credentials }: Provider,
): CredentialsRecord {
  const readings = (live?.credentials() ?? []).filter((reading) => reading.provider === provider)
  return {
    provider,
    credentials: credentials.map(({ name, weight }) => ({
      name,
      weight,
      health:
        live && renderHealth(worstOf(readings.filter(({ credential }) => credential === name))),
    })),
  }
}

/** @throws provider_not_found */
export const listCredentials = verb(
  z.strictObject({ provider: z.string() }),
  async (deps, { provider }) => report(deps, findProvider(deps, provider)),
)

/** Limits how long a request can take when every one of them is refused. */
const MAX_CREDENTIALS = 16
const MAX_WEIGHT = 1_000

/** Its share of the requests. */
export const weightField = z
  .int(`must be a whole number from 1 to ${MAX_WEIGHT}`)
  .check(z.minimum(1), z.maximum(MAX_WEIGHT))

export const credentialNameField = z
  .string()
  .check(z.refine(isProviderName, 'must be lower-case letters, digits, ".", "_" or "-"'))

/**
 * Adds a credential, or replaces the one of that name. A caller that leaves out the secret changes the weight alone.
 * @throws provider_not_found; invalid_request, with param `credential` where a new one lacks its secret
 */
export const setCredential = mutation(
  'providers.credentials.set',
  z.strictObject({
    provider: z.string(),
    name: credentialNameField,
    /** Default: as it is, 1 for a new one. */
    weight: z.optional(weightField),
    credential: z.optional(credentialField),
  }),
  (deps, input, act) =>
    changeCredentials(deps, input.provider, act, (provider) => {
      const { name, credential: secret } = input
      const known = provider.credentials.find((one) => one.name === name)
      const others = provider.credentials.filter((one) => one !== known)
      if (others.length >= MAX_CREDENTIALS) {
        throw new GatewayError(
          'invalid_request',
          `${provider.name} has ${MAX_CREDENTIALS} credentials, which is the most`,
        )
      }
      if (secret !== undefined) checkCredential(provider, secret)
      else if (known === undefined) throw invalidInput('credential', 'must be given')
      const weight = input.weight ?? known?.weight ?? 1
      return [...others, { name, weight, ...(secret !== undefined && { secret }) }]
    }),
)

/** @throws provider_not_found, invalid_request for a name that it has not, and for the last one */
export const removeCredential = mutation(
  'providers.credentials.remove',
  z.strictObject({ provider: z.string(), name: z.string() }),
  (deps, input, act) =>
    changeCredentials(deps, input.provider, act, ({ name: provider, credentials }) => {
      const left = credentials.filter(({ name }) => name !== input.name)
      if (left.length === credentials.length) throw noCredential(provider, credentials, input.name)
      if (left.length > 0) return left
      throw new GatewayError(
        'invalid_request',
        `${input.name} is the last credential of ${provider}: nothing would be accepted`,
        { param: 'name', hint: `gatewayctl providers edit ${provider} --no-key` },
      )
    }),
)

const changeCredentials = async (
  deps: OperatorDeps,
  name: string,
  act: DraftAct,
  change: (provider: Provider) => readonly StatedCredential[],
): Promise<CredentialsRecord> => {
  const { after } = await untilCurrent(() => {
    const provider = findProvider(deps, name)
    if (provider.type === 'demo') {
      throw new GatewayError('invalid_request', `${name} is built in: it needs no credential`)
    }
    const amendment = { credentials: change(provider) }
    return deps.store.providers.edit(name, amendment, act(name), provider.revision)
  })
  return report(deps, after)
}

function noCredential(
  provider: string,
  credentials: readonly Credential[],
  name: string,
): GatewayError {
  const names = credentials.map((one) => one.name)
  return new GatewayError(
    'invalid_request',
    `${provider} has no credential "${name}"${suggest(name, names)}`,
    { param: 'name', hint: `gatewayctl providers credentials list ${provider}` },
  )
}
