/** An operator's change to a provider: what it keeps, and what it must not. */
import { type ActChanges, type Amended, changesBetween } from './act.ts'
import { GatewayError } from './errors.ts'
import {
  type Credential,
  outputBoundOf,
  type Provider,
  type ProviderAmendment,
  type StatedCredential,
} from './provider.ts'

/**
 * An edited provider; what was learnt of another server is forgotten, and when the operator states or resets the bound. A
 * credential serves only the address that it was given for (hardening §4.2).
 * @throws invalid_request with param `credential`: the caller can ask for it and repeat the edit
 */
export function amendProvider(before: Provider, amendment: ProviderAmendment): Provider {
  const { credentials, ...facts } = amendment
  const after = { ...before, ...facts }
  const kept: readonly StatedCredential[] = credentials ?? before.credentials
  if (kept.some(({ secret }) => secret === undefined)) requireSameAddress(before, after)
  const isSame = after.type === before.type && after.baseUrl === before.baseUrl
  const keepsLearned = isSame && facts.outputBound === undefined
  return {
    ...after,
    credentials: inOrder(kept.map(({ name, weight }) => ({ name, weight }))),
    learnedBound: keepsLearned ? before.learnedBound : null,
  }
}

const inOrder = (credentials: readonly Credential[]): readonly Credential[] =>
  credentials.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** What an act of editing a provider says: that the credential changed, never its value. */
export const describeEdit = (
  { before, after }: Amended<Provider>,
  { credentials = [] }: ProviderAmendment,
): ActChanges => ({
  ...changesBetween(factsOf(before), factsOf(after)),
  ...(credentials.some(({ secret }) => secret !== undefined) && { credential: 'changed' }),
})

const factsOf = (provider: Provider): ActChanges => ({
  type: provider.type,
  base_url: provider.baseUrl,
  output_bound: outputBoundOf(provider),
  credentials: provider.credentials.map(({ name, weight }) => ({ name, weight })),
})

function requireSameAddress(before: Provider, { name, baseUrl }: Provider): void {
  if (new URL(before.baseUrl).href === new URL(baseUrl).href) return
  throw new GatewayError(
    'invalid_request',
    `the credential of ${name} was given for ${before.baseUrl}: another address needs it anew`,
    { param: 'credential' },
  )
}
