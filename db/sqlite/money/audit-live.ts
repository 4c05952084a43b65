/** Compares the sums in memory with the ledger: a wrong one refuses or admits requests wrongly at once. */
import type { Database } from 'bun:sqlite'
import type { AuditFinding, EngineFinding } from '#domain/audit.ts'
import { type Day, nextDay, nextMonthStart, renderDay } from '#domain/clock.ts'
import { chargeEntryId, type EntryId, type GenerationId } from '#domain/id.ts'
import { addUsd, dollars, NO_MONEY, renderUsd, subtractUsd, type UsdNanos } from '#domain/money.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { LiveSums } from '../admission/hot-state.ts'
import type { Sums } from './audit-sums.ts'

/** Judged in one go. */
const SLICE_KEYS = 500

/** Balances, days and months in memory against what the ledger adds up to. */
export async function* auditLive(
  sums: Sums,
  { accounts, keys }: LiveSums,
): AsyncGenerator<readonly EngineFinding[], void> {
  yield accounts.flatMap(({ id, balance }) =>
    findDifference('live_balance', id, null, balance, sums.balance(id)),
  )
  for (const { id, periods } of accounts) {
    if (periods === null) continue
    const { today, thisMonth, spentToday, spentThisMonth } = periods
    const day = await sums.spentOf(id, today, nextDay(today))
    const month = await sums.spentOf(id, thisMonth, nextMonthStart(thisMonth))
    yield [
      ...findDifference('live_account_day', id, today, spentToday, day),
      ...findDifference('live_account_month', id, thisMonth, spentThisMonth, month),
    ]
  }
  for (let first = 0; first < keys.length; first += SLICE_KEYS) {
    yield keys.slice(first, first + SLICE_KEYS).flatMap(({ id, periods }) => {
      const { today, thisMonth, spentToday, spentThisMonth } = periods
      const day = sums.spent(id, today, nextDay(today))
      const month = sums.spent(id, thisMonth, nextMonthStart(thisMonth))
      return [
        ...findDifference('live_key_day', id, today, spentToday, day),
        ...findDifference('live_key_month', id, thisMonth, spentThisMonth, month),
      ]
    })
    await nextTurn()
  }
}

type LiveSum =
  | 'live_balance'
  | 'live_account_day'
  | 'live_account_month'
  | 'live_key_day'
  | 'live_key_month'

function findDifference(
  engine: LiveSum,
  subject: EngineFinding['subject'],
  day: Day | null,
  kept: UsdNanos,
  ledger: UsdNanos,
): readonly EngineFinding[] {
  if (kept === ledger) return []
  const date = day === null ? '' : renderDay(day)
  const when = engine.endsWith('_month') ? `in ${date.slice(0, 7)} ` : date && `on ${date} `
  const message = `${when}the running gateway has ${dollars(renderUsd(kept))}, but the ledger adds up to ${dollars(renderUsd(ledger))} (difference ${dollars(renderUsd(subtractUsd(kept, ledger)))})`
  return [{ what: 'engine', engine, subject, message, sum: { day, kept, ledger } }]
}

/** The table of holds against the requests in progress, and what accounts and keys hold together against both. */
export function auditHolds(database: Database, live: LiveSums): readonly AuditFinding[] {
  const kept = new Set(
    database
      .query<{ id: GenerationId }, []>('SELECT generation_id AS id FROM holds')
      .all()
      .map(({ id }) => id),
  )
  const running = new Set(live.open.map(({ id }) => id))
  const charge = database.query<unknown, [EntryId]>('SELECT 1 FROM ledger WHERE id = ?')
  const isCharged = (id: GenerationId) => charge.get(chargeEntryId(id)) !== null
  return [
    ...[...kept.difference(running)].map((id) =>
      aboutHold(id, 'its hold is recorded, but no request in progress has it'),
    ),
    ...[...running.difference(kept)].map((id) =>
      aboutHold(id, 'it is in progress, but its hold is not recorded'),
    ),
    ...[...kept.union(running)]
      .filter(isCharged)
      .map((subject) => ({ what: 'hold' as const, subject })),
    ...auditHeld(live),
  ]
}

const aboutHold = (subject: EngineFinding['subject'], message: string): EngineFinding => ({
  what: 'engine',
  engine: 'hold',
  subject,
  message,
  sum: null,
})

function auditHeld({ accounts, keys, open }: LiveSums): readonly EngineFinding[] {
  const sums = new Map<EngineFinding['subject'], UsdNanos>()
  const add = (id: EngineFinding['subject'], amount: UsdNanos): void => {
    sums.set(id, addUsd(sums.get(id) ?? NO_MONEY, amount))
  }
  for (const { accountId, keyId, amount } of open) {
    add(accountId, amount)
    add(keyId, amount)
  }
  return [...accounts, ...keys]
    .filter(({ id, held }) => held !== (sums.get(id) ?? NO_MONEY))
    .map(({ id }) => aboutHold(id, 'its holds do not add up to what the running gateway has'))
}
