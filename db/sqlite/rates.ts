/** Exchange rates in SQLite, kept in memory between changes because every charge is stamped with one. */
import { desc } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import { instant } from '#domain/clock.ts'
import { type RubPerUsd, readRubPerUsd, renderRubPerUsd } from '#domain/money.ts'
import { DEFAULT_RUB_PER_USD, type Rate, type Rates } from '#domain/rate.ts'
import type { Connection } from './connection.ts'
import { rates } from './schema.ts'

const DEFAULT_RATE: Rate = {
  rubPerUsd: DEFAULT_RUB_PER_USD,
  effectiveFrom: instant(0),
  setByOperator: false,
}

export function createRates({ database, commit }: Connection): Rates {
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
          const stored = renderRubPerUsd(rubPerUsd)
          drizzle
            .insert(rates)
            .values({ effectiveFrom, rubPerUsd: stored })
            .onConflictDoUpdate({ target: rates.effectiveFrom, set: { rubPerUsd: stored } })
            .run()
        },
        () => {
          known = null
        },
      ),
  }
}
