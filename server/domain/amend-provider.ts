/** An operator's change to a provider: what it keeps, and what it must not. */
import { type ActChanges, type Amended, changesBetween } from './act.ts'
import { GatewayError } from './errors.ts'
import { outputBoundOf, type Provider, type ProviderAmendment } from './provider.ts'

/**
 * An edited provider; what was learnt of another server is forgotten, and when the operator states or resets the bound. A
 * credential serves only the address that it was given for (hardening §4.2).
 * @throws invalid_request with param `credential`: the caller can ask for it and repeat the edit
 */
export function amendProvider(before: Provider, amendment: ProviderAmendment): Provider {
  const { credential, ...facts } = amendment
  const after = { ...before, ...facts }
  if (credential === undefined && before.hasCredential) requireSameAddress(before, after)
  const isSame = after.type === before.type && after.baseUrl === before.baseUrl
  const keepsLearned = isSame && facts.outputBound === undefined
  return {
    ...after,
    hasCredential: credential === undefined ? before.hasCredential : credential !== null,
    learnedBound: keepsLearned ? before.learnedBound : null,
  }
}

/** What an act of editing a provider says: that the credential changed, never its value. */
export const describeEdit = (
  { before, after }: Amended<Provider>,
  { credential }: ProviderAmendment,
): ActChanges => ({
  ...changesBetween(factsOf(before), factsOf(after)),
  ...(credential !== undefined &&
    (before.hasCredential || after.hasCredential) && { credential: 'changed' }),
})

const factsOf = (provider: Provider): ActChanges => ({
  type: provider.type,
  base_url: provider.baseUrl,
  output_bound: outputBoundOf(provider),
})

function requireSameAddress(before: Provider, { name, baseUrl }: Provider): void {
  if (new URL(before.baseUrl).href === new URL(baseUrl).href) return
  throw new GatewayError(
    'invalid_request',
    `the credential of ${name} was given for ${before.baseUrl}: another address needs it anew`,
    { param: 'credential' },
  )
}
