/** Reads what a key has spent on a UTC day and since the start of a month. */
import { and, eq, gte } from 'drizzle-orm'
import type { Day } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from './connection.ts'
import { keyDays } from './schema.ts'

export interface SpendReader {
  ofDay(id: KeyId, day: Day): UsdNanos
  since(id: KeyId, first: Day): UsdNanos
}

export function prepareSpendReader({ drizzle }: Connection): SpendReader {
  const spentOn = (id: KeyId, when: ReturnType<typeof eq>): UsdNanos =>
    drizzle
      .select({ spent: keyDays.spent })
      .from(keyDays)
      .where(and(eq(keyDays.keyId, id), when))
      .all()
      .reduce((total, { spent }) => addUsd(total, spent), NO_MONEY)
  return {
    ofDay: (id, day) => spentOn(id, eq(keyDays.day, day)),
    since: (id, first) => spentOn(id, gte(keyDays.day, first)),
  }
}
