/** The time that all nodes go by: that of the database. */
import type { Instant } from '#domain/clock.ts'
import type { Sql, StoreClock } from './database.ts'

/** In milliseconds, as part of a statement. */
export const STORE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * Sets the clock where it differs by more than the answer can have been on its way, of which half is taken for the way back.
 * Answers how far that of the machine is ahead.
 */
export async function keepTime(sql: Sql, clock: StoreClock): Promise<number> {
  const sentMs = clock.monotonicMs()
  const row = await sql.get<{ at: number }>(`SELECT ${STORE_NOW} AS at`)
  const wayMs = (clock.monotonicMs() - sentMs) / 2
  const at = Math.round((row?.at ?? clock.now()) + wayMs) as Instant
  const offMs = clock.now() - at
  if (Math.abs(offMs) > wayMs + 1) clock.follow?.(at)
  return Math.round(clock.aheadMs?.() ?? offMs)
}
