/** Exchange rates in SQLite, kept in memory between changes because every charge is stamped with one. */
import { and, desc, eq, gt } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import { instant } from '#domain/clock.ts'
import { type RubPerUsd, readRubPerUsd, renderRubPerUsd } from '#domain/money.ts'
import { DEFAULT_RUB_PER_USD, type Rate, type Rates } from '#domain/rate.ts'
import type { Connection } from '../engine/connection.ts'
import { rates } from '../schema.ts'

const DEFAULT_RATE: Rate = {
  rubPerUsd: DEFAULT_RUB_PER_USD,
  effectiveFrom: instant(0),
  setByOperator: false,
}

export function createRates({ database, commit, clock }: Connection): Rates {
  const drizzle = openDrizzle({ client: database })
  let known: readonly Rate[] | null = null

  const all = (): readonly Rate[] => {
    known ??= drizzle
      .select()
      .from(rates)
      .orderBy(desc(rates.effectiveFrom))
      .all()
      .map(({ effectiveFrom, rubPerUsd }) => ({
        effectiveFrom,
        rubPerUsd: readRubPerUsd(rubPerUsd) as RubPerUsd,
        setByOperator: true,
      }))
    return known
  }

  return {
    at(at) {
      for (const rate of all()) if (rate.effectiveFrom <= at) return rate
      return all().at(-1) ?? DEFAULT_RATE
    },
    async list() {
      return all()
    },
    set: (rubPerUsd, effectiveFrom) =>
      commit.commitDurably(
        () => {
          const at = clock.now()
          const stored = { rubPerUsd: renderRubPerUsd(rubPerUsd), ahead: effectiveFrom > at }
          // What has not begun, but was not dated ahead, was set by a clock that has been set back since.
          if (!stored.ahead) {
            const isOvertaken = and(gt(rates.effectiveFrom, at), eq(rates.ahead, false))
            drizzle.delete(rates).where(isOvertaken).run()
          }
          drizzle
            .insert(rates)
            .values({ effectiveFrom, ...stored })
            .onConflictDoUpdate({ target: rates.effectiveFrom, set: stored })
            .run()
        },
        () => {
          known = null
        },
      ),
  }
}
