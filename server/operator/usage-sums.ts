/** What an account's keys spent, by the sums of their days: there at once, however long the log is, with what those sums know. */

import * as z from 'zod/mini'
import type { KeyDaySpend } from '#domain/admission.ts'
import { type Day, dayOf, dayStart } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { statedIn } from '#domain/stated.ts'
import {
  addSums,
  byCost,
  MAX_USAGE_GROUPS,
  NO_SUM,
  subtractSums,
  type UsageQuery,
  type UsageRow,
  type UsageSum,
} from '#domain/usage-report.ts'
import { accountField, timeField } from '#forms/fields.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { makerOf } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { keptSince } from './kept-since.ts'
import { renderGroups, type UsageGroupRecord, type UsageSumRecord } from './usage-report.ts'
import { verb } from './verb.ts'

/** Tokens, images and roubles are in the log alone. */
type SpendRecord = Pick<UsageSumRecord, 'requests' | 'cost_usd' | 'share_percent'>

export interface SumsRecord {
  readonly rows: readonly (UsageGroupRecord & SpendRecord)[]
  readonly other: SpendRecord & { readonly groups: number }
  readonly total: SpendRecord
}

export interface UsageSumsRecord {
  readonly keys: SumsRecord
  readonly days: SumsRecord
  /** Of the keys that spent most, day by day. */
  readonly split: SumsRecord
}

/**
 * What `usage.report` says of whole days by key, by day, and by day of the `drawn` keys that spent most. Null where the sums do not say
 * the same: of parts of days, of days that the log has no more, of keys that were moved; and where they are very many.
 * @throws account_not_found, store_unavailable
 */
export const sumUsage = verb(
  z.strictObject({
    account: accountField,
    since: timeField,
    until: timeField,
    top: z.int().check(z.minimum(1), z.maximum(MAX_USAGE_GROUPS)),
    drawn: z.int().check(z.minimum(0)),
  }),
  async (deps, input): Promise<UsageSumsRecord | null> => {
    const { since, until, top, drawn } = input
    const { id: accountId } = await findAccount(deps, input.account)
    const [first, before] = [dayOf(since), dayOf(until)]
    if (since !== dayStart(first) || until !== dayStart(before)) return null
    const madeBy = makerOf(deps.actor)
    const within = { accountId, since: first, before, ...statedIn({ madeBy }) }
    const spends = await deps.store.admissions.spendByKey(within)
    if (spends === null || (await keptSince(deps, since)) !== null) return null
    const keys = await addUp(spends, ({ keyId }) => keyId)
    const days = await addUp(spends, ({ day }) => day)
    const most = new Set(keys.slice(0, drawn).map(({ by }) => by))
    const ofMost = spends.filter(({ keyId }) => most.has(keyId)).map(toRow)
    return {
      keys: await render(deps, { by: 'key', thenBy: null }, keys, top),
      days: await render(deps, { by: 'day', thenBy: null }, days),
      split: await render(deps, { by: 'day', thenBy: 'key' }, ofMost),
    }
  },
)

const toRow = ({ day, keyId, spent, requests }: KeyDaySpend): UsageRow => ({
  ...NO_SUM,
  ...{ by: day, thenBy: keyId, requests, cost: spent },
})

/** Added up in half a millisecond. */
const SPENDS_PER_TURN = 2_000

/** A row for each name, the most expensive first, as a report has them. */
async function addUp(
  spends: readonly KeyDaySpend[],
  nameOf: (spend: KeyDaySpend) => KeyId | Day,
): Promise<readonly UsageRow[]> {
  const sums = new Map<KeyId | Day, { requests: number; cost: UsdNanos }>()
  for (const [place, spend] of spends.entries()) {
    if (place % SPENDS_PER_TURN === SPENDS_PER_TURN - 1) await idleTurn()
    const name = nameOf(spend)
    const sum = sums.get(name) ?? { requests: 0, cost: NO_MONEY }
    sum.requests += spend.requests
    sum.cost = addUsd(sum.cost, spend.spent)
    sums.set(name, sum)
  }
  const rows = [...sums].map(([by, sum]) => ({ ...NO_SUM, ...sum, by, thenBy: null }))
  return rows.sort((a, b) => byCost(a, b) || (String(a.by) < String(b.by) ? -1 : 1))
}

async function render(
  deps: OperatorDeps,
  names: Pick<UsageQuery, 'by' | 'thenBy'>,
  all: readonly UsageRow[],
  top = all.length,
): Promise<SumsRecord> {
  const rows = all.slice(0, top)
  const total = all.reduce<UsageSum>(addSums, NO_SUM)
  const other = subtractSums(total, rows.reduce<UsageSum>(addSums, NO_SUM))
  const others = all.length - rows.length
  const report = await renderGroups(deps, names, { rows, other, others, total })
  return {
    rows: report.rows.map(known),
    other: known(report.other),
    total: known(report.total),
  }
}

const known = <Sum extends UsageSumRecord>({
  prompt_tokens,
  completion_tokens,
  images,
  cost_rub,
  ...sum
}: Sum) => sum
