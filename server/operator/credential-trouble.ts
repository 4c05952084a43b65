/** Of a provider with several credentials, those that rest or were refused: by name, never by secret. */
import type { Provider } from '#domain/provider.ts'
import type { FailureKind } from '#domain/upstream.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { LiveFacts } from './deps.ts'
import { type HealthRecord, renderHealth, worstOf } from './hop-record.ts'

export interface CredentialTroubleRecord extends HealthRecord {
  readonly credential: string
  /** Its last failure: `unauthorized` where the provider refused it. */
  readonly reason: FailureKind
  /** The provider's own, where one came. */
  readonly status: number | null
}

/** By name. Empty while no server runs, and where all serve. */
export function credentialTroubles(
  live: LiveFacts | null,
  { name, credentials }: Pick<Provider, 'name' | 'credentials'>,
): readonly CredentialTroubleRecord[] {
  const readings = (live?.credentials() ?? []).filter(({ provider }) => provider === name)
  return credentials.flatMap((one) => {
    // Each process that serves has its own reading.
    const own = readings.filter(({ credential }) => credential === one.name)
    const last = own.find(({ kind }) => kind === 'unauthorized') ?? own[0]
    if (last === undefined) return []
    const health = renderHealth(worstOf(own))
    const isRefused = last.kind === 'unauthorized' && last.failures > 0
    if (health.state !== 'resting' && !isRefused) return []
    return [{ credential: one.name, ...health, reason: last.kind, status: last.status }]
  })
}

/**
 * One of which every credential rests serves as little as one whose every hop does: until the first of them is asked again.
 * `readings` are those of its hops, `troubles` those of its credentials.
 */
export function providerHealth(
  { credentials }: Pick<Provider, 'credentials'>,
  readings: Parameters<typeof worstOf>[0],
  troubles: readonly CredentialTroubleRecord[],
): HealthRecord {
  const hops = renderHealth(worstOf(readings))
  const resting = troubles.filter(({ state }) => state === 'resting')
  if (resting.length < Math.max(1, credentials.length)) return hops
  const [first] = resting.toSorted((a, b) =>
    (a.rests_until ?? '') < (b.rests_until ?? '') ? -1 : 1,
  )
  if (first === undefined || (hops.rests_until ?? '') > (first.rests_until ?? '')) return hops
  const { state, failures_in_a_row, rests_until } = first
  return { state, failures_in_a_row, rests_until }
}

/** "credential b of openai is refused (401)" */
export const describeTrouble = (
  provider: string,
  { credential, reason, status }: CredentialTroubleRecord,
): string => {
  const what = reason === 'unauthorized' ? 'is refused' : 'rests'
  return `credential ${credential} of ${provider} ${what}${status === null ? '' : `: status ${status}`}`
}

/** The command that replaces one. */
export const remedyOf = (provider: string, { credential }: CredentialTroubleRecord): string =>
  `gatewayctl providers credentials add ${shellWord(provider)} ${shellWord(credential)} --key-file -`
