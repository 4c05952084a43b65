/** The catalogue as an engine holds it in memory, and a change of it. */
import type { Act, ActChanges } from '#domain/act.ts'
import type { Catalogue, Catalogues } from '#domain/catalogue.ts'
import { noteAct } from '../log/acts.ts'
import { CATALOGUE_SQL, type CatalogueRows, toCatalogue } from '../rows/catalogue-rows.ts'
import { all, get, run, type Statements } from '../statements.ts'

/** What a change sees: the catalogue before it, and the version that is in force with it. */
export interface Changing {
  readonly before: Catalogue
  readonly version: number
}

export interface HeldCatalogue extends Catalogues {
  /** Reads it again where another version is in force. */
  refresh(): Promise<void>
  /** Runs a change in its own transaction, durably, and writes its act there; `seen` is what the act gains. */
  change<T>(
    act: Act | null,
    expected: number | undefined,
    write: (changing: Changing) => Statements<T>,
    seen?: (written: T) => ActChanges,
  ): Promise<T | 'stale'>
}

export function* changeCatalogue<T>(
  before: Catalogue,
  act: Act | null,
  write: (changing: Changing) => Statements<T>,
  seen?: (written: T) => ActChanges,
): Statements<T> {
  const version = before.version + 1
  const written = yield* write({ before, version })
  yield* run('UPDATE catalogue_version SET version = $version', { version })
  if (act !== null) yield* noteAct(act, seen?.(written))
  return written
}

export function* readVersion(): Statements<number> {
  const row = yield* get<{ version: number }>('SELECT version FROM catalogue_version')
  return row?.version ?? 0
}

export function* readCatalogue(): Statements<Catalogue> {
  const rows: Record<string, unknown> = { version: yield* readVersion() }
  for (const [table, sql] of Object.entries(CATALOGUE_SQL)) rows[table] = yield* all(sql)
  return toCatalogue(rows as unknown as CatalogueRows)
}
