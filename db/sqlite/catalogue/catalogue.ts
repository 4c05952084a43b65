/** The catalogue: models, the providers that serve them, and the rate that their charges are shown at. */
import type { Store } from '#domain/store.ts'
import type { Connection } from '../engine/connection.ts'
import { createModels } from './models.ts'
import { createProviders } from './providers.ts'
import { createRates } from './rates.ts'

export function openCatalogue(
  connection: Connection,
): Pick<Store, 'models' | 'providers' | 'rates'> {
  const models = createModels(connection)
  return {
    models,
    // A provider takes its models with it.
    providers: createProviders(connection, models.forget),
    rates: createRates(connection),
  }
}
