/** Compares the sums in memory with the ledger: a wrong one refuses or admits requests wrongly at once. */
import type { Database } from 'bun:sqlite'
import type { AuditFinding } from '#domain/audit.ts'
import { nextDay, nextMonthStart } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { LiveSums } from '../admission/live-sums.ts'
import { nextTurn } from '../engine/next-turn.ts'
import type { Sums } from './audit-sums.ts'
import { prepareIsCharged } from './is-charged.ts'

/** Judged in one go. */
const SLICE_KEYS = 500

/** Balances, days and months in memory against what the ledger adds up to. */
export async function* auditLive(
  sums: Sums,
  { accounts, keys }: LiveSums,
): AsyncGenerator<readonly AuditFinding[], void> {
  yield accounts.flatMap(({ id, balance }) =>
    findDifference('live_balance', id, null, balance, sums.balance(id)),
  )
  for (let first = 0; first < keys.length; first += SLICE_KEYS) {
    yield keys.slice(first, first + SLICE_KEYS).flatMap((key) => {
      const { id, today, thisMonth } = key
      const day = sums.spent(id, today, nextDay(today))
      const month = sums.spent(id, thisMonth, nextMonthStart(thisMonth))
      return [
        ...findDifference('live_key_day', id, today, key.spentToday, day),
        ...findDifference('live_key_month', id, thisMonth, key.spentThisMonth, month),
      ]
    })
    await nextTurn()
  }
}

type SumFinding = Extract<AuditFinding, { readonly kept: UsdNanos }>

const findDifference = (
  what: SumFinding['what'],
  subject: SumFinding['subject'],
  day: SumFinding['day'],
  kept: UsdNanos,
  ledger: UsdNanos,
): readonly AuditFinding[] =>
  kept === ledger ? [] : [{ what, subject, day, endUser: null, kept, ledger }]

/** The table of holds against the requests in progress, and what accounts and keys hold together against both. */
export function auditHolds(database: Database, live: LiveSums): readonly AuditFinding[] {
  const kept = new Set(
    database
      .query<{ id: GenerationId }, []>('SELECT generation_id AS id FROM holds')
      .all()
      .map(({ id }) => id),
  )
  const running = new Set(live.open.map(({ id }) => id))
  const isCharged = prepareIsCharged(database)
  return [
    ...[...kept.difference(running)].map((subject) => holdFinding(subject, 'nobody_runs')),
    ...[...running.difference(kept)].map((subject) => holdFinding(subject, 'not_kept')),
    ...[...kept.union(running)].filter(isCharged).map((subject) => holdFinding(subject, 'charged')),
    ...auditHeld(live),
  ]
}

type HoldFinding = Extract<AuditFinding, { readonly what: 'hold' }>

const holdFinding = (
  subject: HoldFinding['subject'],
  fault: HoldFinding['fault'],
): AuditFinding => ({
  what: 'hold',
  subject,
  fault,
})

function auditHeld({ accounts, keys, open }: LiveSums): readonly AuditFinding[] {
  const sums = new Map<HoldFinding['subject'], UsdNanos>()
  const add = (id: HoldFinding['subject'], amount: UsdNanos): void => {
    sums.set(id, addUsd(sums.get(id) ?? NO_MONEY, amount))
  }
  for (const { accountId, keyId, amount } of open) {
    add(accountId, amount)
    add(keyId, amount)
  }
  return [...accounts, ...keys]
    .filter(({ id, held }) => held !== (sums.get(id) ?? NO_MONEY))
    .map(({ id }) => holdFinding(id, 'sum'))
}
