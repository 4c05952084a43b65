/** Looks at the providers: one that keeps failing is told of, and so is its recovery. */
import { CAUSES, type CauseFacts, type CauseName } from '#domain/cause.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import { draftEvent } from '#domain/event.ts'
import type { EventId } from '#domain/id.ts'
import { DEFAULT_CREDENTIAL } from '#domain/provider.ts'
import type { Pulse } from '#domain/snapshot/pulse.ts'
import type { Store } from '#domain/store.ts'
import { readAskedHops } from '#domain/walk/asked-hops.ts'
import type { HopReading } from '#domain/walk/hop-health.ts'
import type { Serving } from './serving.ts'
import type { Teller } from './teller.ts'

export interface ProviderSight {
  readonly store: Pick<Store, 'catalogue' | 'events'>
  readonly clock: Clock
  readonly teller: Teller
  readonly serving: Pick<Serving, 'hops' | 'credentials'>
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
  const hasSettled = (subject: string, isFailing: boolean): boolean => {
    const nowMs = clock.monotonicMs()
    const before = seen.get(subject)
    if (before?.isFailing !== isFailing) seen.set(subject, { isFailing, sinceMs: nowMs })
    return before?.isFailing === isFailing && nowMs - before.sinceMs >= SETTLED_MS
  }
  /** What an earlier process saw fail serves again when it has answered this one. */
  const isServing = (subject: string): boolean =>
    seen.has(subject) || hasServedSince(pulse, providerOf(subject), startedAt)

  const tellIfOver = async (subject: string, told: Told): Promise<void> => {
    const facts = await factsOf(sight, told.id)
    if (isGone(sight, facts)) await teller.lift(told.cause, subject)
    else if (isServing(subject) && hasSettled(subject, false))
      await tellEnd(sight, told, subject, facts)
  }

  return async () => {
    const failing = failingOf(serving)
    const told = toldOf(teller)
    for (const subject of seen.keys()) {
      if (!failing.has(subject) && !told.has(subject)) seen.delete(subject)
    }
    for (const [subject, tell] of failing) {
      const isTold = told.has(subject) || isRejected(told.get(wholeOf(subject)))
      if (hasSettled(subject, true) && !isTold) await tell(teller)
    }
    for (const [subject, one] of told) {
      const goesOn = failing.has(subject) || (isRejected(one) && failing.has(onlyOf(subject)))
      if (!goesOn) await tellIfOver(subject, one)
    }
  }
}

/** A subject is a provider; or, of a provider that has several credentials, it and one of them. */
const providerOf = (subject: string): string => subject.split(' ')[0] ?? ''

/** The only credential of a provider is told under the provider's name, and has its own once there are others. */
const onlyOf = (provider: string): string => `${provider} ${DEFAULT_CREDENTIAL}`
const wholeOf = (subject: string): string =>
  subject === onlyOf(providerOf(subject)) ? providerOf(subject) : subject
const isRejected = (told: Told | undefined): boolean =>
  told?.cause === 'gateway.credential_rejected'

type Tell = (teller: Teller) => Promise<void>

/** By subject, how each is told. */
function failingOf(serving: ProviderSight['serving']): ReadonlyMap<string, Tell> {
  const failing = new Map<string, Tell>()
  const byProvider = Map.groupBy(
    serving.hops().filter(({ keepsFailing }) => keepsFailing),
    ({ provider }) => provider,
  )
  for (const [provider, readings] of byProvider) {
    failing.set(provider, (teller) => tellProvider(teller, provider, readings))
  }
  for (const { provider, credential, needsOperator, status } of serving.credentials()) {
    if (!needsOperator) continue
    const facts = { provider, credential, models: [], status }
    const subject = CAUSES['gateway.credential_rejected'].subject(facts)
    failing.set(subject, (teller) => teller.raise('gateway.credential_rejected', facts))
  }
  return failing
}

interface Told {
  readonly cause: CauseName
  readonly id: EventId
}

/** What is told of, by subject. */
const toldOf = (teller: Teller): ReadonlyMap<string, Told> =>
  new Map(
    CAUSES_OF_PROVIDER.flatMap((cause) =>
      [...teller.open(cause)].map(([subject, id]) => [subject, { cause, id }] as const),
    ),
  )

function tellProvider(
  teller: Teller,
  provider: string,
  readings: readonly HopReading[],
): Promise<void> {
  // Each process that serves has its own reading.
  const models = [...new Set(readings.map(({ upstreamName }) => upstreamName))]
  const rejecting = readings.find(({ kind }) => kind === 'unauthorized')
  if (rejecting) {
    const { status } = rejecting
    return teller.raise('gateway.credential_rejected', {
      provider,
      credential: null,
      models,
      status,
    })
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

/** Whether nothing that failed is asked any more, so that it is nobody's trouble, and never answers. */
function isGone({ store }: ProviderSight, facts: FailingFacts | null): boolean {
  if (facts === null) return false
  const asked = readAskedHops(store.catalogue.current())
  const { provider, models, credential = null } = facts
  if (credential !== null) return !asked.hasCredential(provider, credential)
  return !models.some((upstreamName) => asked.hasHop({ provider, upstreamName }))
}

async function factsOf({ store }: ProviderSight, id: EventId): Promise<FailingFacts | null> {
  const event = await store.events.find(id)
  return event === undefined ? null : JSON.parse(event.body).data
}

type FailingFacts = Pick<CauseFacts['gateway.provider_resting'], 'provider' | 'models'> &
  Partial<CauseFacts['gateway.credential_rejected']>

const tellEnd = (
  { teller, clock }: ProviderSight,
  { cause, id }: Told,
  subject: string,
  failing: FailingFacts | null,
): Promise<void> => {
  const credential = failing?.credential ?? null
  const facts = { provider: providerOf(subject), credential, event_id: id }
  const recovered = draftEvent('gateway.provider_recovered', facts, clock.now())
  return teller.lift(cause, subject, recovered)
}

function hasServedSince({ endings }: Pulse, provider: string, since: Instant): boolean {
  for (const ended of endings.after(since)) {
    if (ended.provider === provider && ended.status === 200) return true
  }
  return false
}
