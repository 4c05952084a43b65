/** Whether the ledger has the charge of a request. */
import type { Database } from 'bun:sqlite'
import { chargeEntryId, type EntryId, type GenerationId } from '#domain/id.ts'
import { statement } from '../engine/statement.ts'

export function prepareIsCharged(database: Database): (id: GenerationId) => boolean {
  const charge = statement<unknown, [EntryId]>(database, 'SELECT 1 FROM ledger WHERE id = ?')
  return (id) => charge().get(chargeEntryId(id)) !== null
}
