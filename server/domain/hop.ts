/** A hop as a request uses it: a model at a provider, and the wires in which it can be asked there. */
import type { ModelCard } from './model-card.ts'
import { familyOf, type OpenAiWire, PROVIDER_PRESETS, type Provider } from './provider.ts'
import type { RouteHop } from './route.ts'
import type { Dialect } from './work.ts'

/** A hop as a request uses it. */
export interface Hop {
  /** The model's card with this hop's `upstreamName`. */
  readonly card: ModelCard
  readonly provider: Provider
  /** The name of the credential that it is asked with, where the provider has several; else null. */
  readonly credential: string | null
}

/** Whether both are the same model at the same provider, by whichever credential. */
export const isSameHop = (one: Hop, other: Hop): boolean =>
  one.provider.name === other.provider.name &&
  one.card.id === other.card.id &&
  one.card.upstreamName === other.card.upstreamName

export const toHop = (
  card: ModelCard,
  { upstreamName }: RouteHop,
  provider: Provider,
  credential: string | null = null,
): Hop => ({
  card: card.upstreamName === upstreamName ? card : { ...card, upstreamName },
  provider,
  credential,
})

/** Whether the hop can be asked in this wire of OpenAI's API; other families have none of them. */
export function hasWire({ card, provider }: Hop, wire: OpenAiWire): boolean {
  const { wires } = PROVIDER_PRESETS[provider.type]
  return familyOf(provider.type, card) === 'openai' && (card.wires ?? wires).includes(wire)
}

/** Whether a model is asked in the Responses API for clients of other dialects too: by its card it answers in no other. */
export const isAskedInResponses = (hop: Hop): boolean =>
  hop.card.wires !== null && !hasWire(hop, 'chat') && hasWire(hop, 'responses')

/**
 * Native: asked in the client's own words, by a provider that speaks its dialect; what it answers passes as it is (contract §7).
 * False: the provider is asked in another wire, by way of the conversation, and the answer is rendered. So is every chat.
 */
export function isNative(hop: Hop, dialect: Dialect): boolean {
  switch (dialect) {
    case 'messages':
      return familyOf(hop.provider.type, hop.card) === 'anthropic'
    case 'responses':
      return hasWire(hop, 'responses')
    default:
      return false
  }
}
