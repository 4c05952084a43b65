/** Looks at the providers: one that keeps failing is told of, and so is its recovery. */
import type { CauseName } from '#domain/cause.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import { draftEvent } from '#domain/event.ts'
import type { Pulse } from '#domain/snapshot/pulse.ts'
import type { Store } from '#domain/store.ts'
import type { HopReading } from '#domain/walk/hop-health.ts'
import type { Serving } from './serving.ts'
import type { Teller } from './teller.ts'

export interface ProviderSight {
  readonly store: Pick<Store, 'catalogue'>
  readonly clock: Clock
  readonly teller: Teller
  readonly serving: Pick<Serving, 'hops'>
  readonly pulse: Pulse
}

/** How long a provider keeps failing, or serves again, before that is told: shorter troubles are nobody's night. */
const SETTLED_MS = 15_000

const CAUSES_OF_PROVIDER = ['gateway.provider_resting', 'gateway.credential_rejected'] as const

interface Seen {
  readonly isFailing: boolean
  /** On the clock that no correction moves. */
  readonly sinceMs: number
}

export function lookAtProviders(sight: ProviderSight): () => Promise<void> {
  const { clock, teller, serving, pulse } = sight
  const startedAt = clock.now()
  const seen = new Map<string, Seen>()
  const hasSettled = (provider: string, isFailing: boolean): boolean => {
    const nowMs = clock.monotonicMs()
    const before = seen.get(provider)
    if (before?.isFailing !== isFailing) seen.set(provider, { isFailing, sinceMs: nowMs })
    return before?.isFailing === isFailing && nowMs - before.sinceMs >= SETTLED_MS
  }
  /** What an earlier process saw fail serves again when it has answered this one. */
  const isServing = (provider: string): boolean =>
    seen.has(provider) || hasServedSince(pulse, provider, startedAt)

  return async () => {
    const failing = Map.groupBy(
      serving.hops().filter(({ keepsFailing }) => keepsFailing),
      ({ provider }) => provider,
    )
    const told = toldOf(teller)
    for (const provider of seen.keys()) {
      if (!failing.has(provider) && !told.has(provider)) seen.delete(provider)
    }
    for (const [provider, readings] of failing) {
      if (hasSettled(provider, true) && !told.has(provider)) await tell(teller, provider, readings)
    }
    for (const [provider, cause] of told) {
      if (failing.has(provider)) continue
      const isOver = isServing(provider) && hasSettled(provider, false)
      await tellEnd(sight, cause, provider, isOver)
    }
  }
}

/** The providers that are told of, and why. */
const toldOf = (teller: Teller): ReadonlyMap<string, CauseName> =>
  new Map(
    CAUSES_OF_PROVIDER.flatMap((cause) =>
      teller.open(cause).map((provider) => [provider, cause] as const),
    ),
  )

function tell(teller: Teller, provider: string, readings: readonly HopReading[]): Promise<void> {
  // Each process that serves has its own reading.
  const models = [...new Set(readings.map(({ upstreamName }) => upstreamName))]
  const rejecting = readings.find(({ kind }) => kind === 'unauthorized')
  if (rejecting) {
    const { status } = rejecting
    return teller.raise('gateway.credential_rejected', { provider, models, status })
  }
  const [worst] = readings.toSorted((one, other) => other.failures - one.failures)
  return teller.raise('gateway.provider_resting', {
    provider,
    models,
    failures: worst?.failures ?? 0,
    reason: worst?.kind ?? 'failed',
    status: worst?.status ?? null,
  })
}

/** One that was removed is nobody's trouble any more. */
async function tellEnd(
  { store, teller, clock }: ProviderSight,
  cause: CauseName,
  provider: string,
  isServing: boolean,
): Promise<void> {
  if (!store.catalogue.current().providers.has(provider)) return await teller.lift(cause, provider)
  if (!isServing) return
  await teller.lift(cause, provider, (event_id) =>
    draftEvent('gateway.provider_recovered', { provider, event_id }, clock.now()),
  )
}

function hasServedSince({ endings }: Pulse, provider: string, since: Instant): boolean {
  for (const ended of endings.after(since)) {
    if (ended.provider === provider && ended.status === 200) return true
  }
  return false
}
