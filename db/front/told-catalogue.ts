/** The catalogue as it crosses a link: a price that cannot be read is told as its error, which is thrown where it is asked for. */
import type { Catalogue } from '#domain/catalogue.ts'
import type { ModelCard, PriceVersion } from '#domain/model-card.ts'

interface ToldVersion extends Omit<PriceVersion, 'prices'> {
  /** Or why they cannot be read. */
  readonly prices: PriceVersion['prices'] | string
}

type ToldCard = Omit<ModelCard, 'prices'> & { readonly prices: readonly ToldVersion[] }

export type ToldCatalogue = Omit<Catalogue, 'models'> & {
  readonly models: ReadonlyMap<string, ToldCard>
}

export const tellCatalogue = (catalogue: Catalogue): ToldCatalogue => ({
  ...catalogue,
  models: new Map(
    [...catalogue.models].map(([id, card]) => [id, { ...card, prices: card.prices.map(tell) }]),
  ),
})

export const hearCatalogue = (told: ToldCatalogue): Catalogue => ({
  ...told,
  models: new Map(
    [...told.models].map(([id, card]) => [id, { ...card, prices: card.prices.map(hear) }]),
  ),
})

function tell(version: PriceVersion): ToldVersion {
  const { id, effectiveFrom } = version
  try {
    return { id, effectiveFrom, prices: version.prices }
  } catch (thrown) {
    return { id, effectiveFrom, prices: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

function hear({ id, effectiveFrom, prices }: ToldVersion): PriceVersion {
  if (typeof prices !== 'string') return { id, effectiveFrom, prices }
  return {
    id,
    effectiveFrom,
    get prices(): PriceVersion['prices'] {
      throw new RangeError(prices)
    },
  }
}
