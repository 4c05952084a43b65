/** What tests ask of the catalogue in force. */
import type { Instant } from '#domain/clock.ts'
import { type ModelCard, type PriceVersion, priceAt } from '#domain/model-card.ts'
import type { Provider } from '#domain/provider.ts'
import { rateAt } from '#domain/rate.ts'
import type { Store } from '#domain/store.ts'

type Held = Pick<Store, 'catalogue'>

export const modelOf = ({ catalogue }: Held, id: string): ModelCard | undefined =>
  catalogue.current().models.get(id)

export const modelsOf = ({ catalogue }: Held): readonly ModelCard[] => [
  ...catalogue.current().models.values(),
]

/** Null where there is no price, and where there is no such model. */
export function priceOf(store: Held, id: string, at: Instant): PriceVersion | null {
  const card = modelOf(store, id)
  return card === undefined ? null : priceAt(card, at)
}

export const providerOf = ({ catalogue }: Held, name: string): Provider | undefined =>
  catalogue.current().providers.get(name)

export const providersOf = ({ catalogue }: Held): readonly Provider[] => [
  ...catalogue.current().providers.values(),
]

export const rateOf = ({ catalogue }: Held, at: Instant) => rateAt(catalogue.current(), at)
