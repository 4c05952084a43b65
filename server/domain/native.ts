/** Native: asked in the client's own words, by a provider that speaks its dialect; what it answers passes as it is (contract §7). */
import { type Hop, hasWire } from './model-card.ts'
import { familyOf } from './provider.ts'
import type { Dialect } from './work.ts'

/** False: the provider is asked in another wire, by way of the conversation, and the answer is rendered. So is every chat. */
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
