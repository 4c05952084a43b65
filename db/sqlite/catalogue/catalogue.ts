/** The catalogue in SQLite: held in memory, because every request looks at it, and read again after a change. */
import type { Database } from 'bun:sqlite'
import type { Act, ActChanges } from '#domain/act.ts'
import type { Catalogue, Catalogues } from '#domain/catalogue.ts'
import type { ModelAlias } from '#domain/model-card.ts'
import {
  CATALOGUE_SQL,
  type CatalogueRows,
  type HopRow,
  type ModelRow,
  type PriceRow,
  type ProviderRow,
  type RateRow,
  toCatalogue,
} from '../../rows/catalogue-rows.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export interface HeldCatalogue extends Catalogues {
  /** Whether another version is expected than that of this turn. */
  isStale(expected: number | undefined): boolean
  /**
   * Runs a change in its own transaction, durably, and writes its act there; `write` gets the version that the catalogue has
   * with it, and `seen` is what the act gains.
   */
  change<T>(
    act: Act | null,
    write: (version: number) => T,
    seen?: (written: T) => ActChanges,
  ): Promise<T>
}

export function openCatalogue({ database, commit }: Connection): HeldCatalogue {
  const raise = statement<{ version: number }>(
    database,
    'UPDATE catalogue_version SET version = version + 1 RETURNING version',
  )
  const read = prepareRead(database)
  const noteAct = prepareNoteAct(database)
  let held: Catalogue | null = null
  const current = (): Catalogue => {
    held ??= read()
    return held
  }
  return {
    current,
    isStale: (expected) => expected !== undefined && expected !== current().version,
    async change(act, write, seen) {
      // Not first inside the transaction, which may be rolled back.
      current()
      return await commit.commitDurably(
        () => {
          const written = write(raise().get()?.version ?? 0)
          if (act !== null) noteAct(act, seen?.(written))
          return written
        },
        () => {
          held = null
        },
      )
    },
  }
}

/** Reads the whole of it. */
function prepareRead(database: Database): () => Catalogue {
  const version = statement<{ version: number }>(database, 'SELECT version FROM catalogue_version')
  const models = statement<ModelRow>(database, CATALOGUE_SQL.models)
  const hops = statement<HopRow>(database, CATALOGUE_SQL.hops)
  const aliases = statement<ModelAlias>(database, CATALOGUE_SQL.aliases)
  const prices = statement<PriceRow>(database, CATALOGUE_SQL.prices)
  const providers = statement<ProviderRow>(database, CATALOGUE_SQL.providers)
  const credentials = statement<CatalogueRows['credentials'][number]>(
    database,
    CATALOGUE_SQL.credentials,
  )
  const rates = statement<RateRow>(database, CATALOGUE_SQL.rates)
  return () =>
    toCatalogue({
      version: version().get()?.version ?? 0,
      models: models().all(),
      hops: hops().all(),
      aliases: aliases().all(),
      prices: prices().all(),
      providers: providers().all(),
      credentials: credentials().all(),
      rates: rates().all(),
    })
}
