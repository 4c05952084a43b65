/** Admissions in PostgreSQL: what one turn asks leaves as one call, for claims and for settlements each. */
import {
  type Admissions,
  type Claim,
  type KeyDaySpend,
  type KeyDaysQuery,
  type KeySpending,
  MAX_KEY_DAYS,
  type Repeated,
  type Spend,
  type Verdict,
} from '#domain/admission.ts'
import type { Stale } from '#domain/catalogue.ts'
import {
  DAY_MS,
  type Day,
  dayOf,
  type Instant,
  later,
  monthStart,
  nextMonthStart,
} from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import { keyNotFound } from '#domain/key.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { HeldCatalogue } from '../../catalogue/held.ts'
import { batched } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { isLost, repeated, untilDone } from '../engine/errors.ts'
import type { NodeLife } from '../engine/node-life.ts'
import { ACCOUNT_DAYS } from '../money/moved-days.ts'
import type { Marks } from '../outbox/passed-marks.ts'
import { askAdmission, type ReadingColumns, toReadings, toVerdict } from './admit.ts'
import { findKept } from './answers.ts'
import { expire, giveUp } from './expire.ts'
import { askSettlement, type Ended } from './settle.ts'

interface AccountRow extends ReadingColumns {
  readonly in_progress: number
  readonly spent_day: number | null
  readonly spent_month: number | null
}

interface UsageRow extends ReadingColumns {
  readonly known: boolean
  readonly in_progress: number
  readonly held: number
  readonly spent_day: number
  readonly spent_month: number
}

export function createAdmissions(
  database: Database,
  catalogue: HeldCatalogue,
  marks: Marks,
  life: Pick<NodeLife, 'rejoin'>,
): Admissions {
  const { lanes, clock } = database
  const sender = { now: () => clock.now(), epoch: () => database.owner.epoch }
  const askAll = (takes: boolean) => async (claims: readonly Claim[]) => {
    const asking = repeated(() => askAdmission(lanes.admit, claims, takes, sender))
    const rows = await asking.catch(async (error) => {
      if (takes && isLost(error)) forget(claims.map(({ generationId }) => generationId))
      throw error
    })
    // Before those hear of it that are stale, so that they are made anew by what is in force; nobody else waits for that, or fails with it.
    const refreshed = rows.some(({ code }) => code === 'stale') ? catalogue.refresh() : null
    // Made anew by the epoch that this node has then.
    const rejoined = rows.some(({ code }) => code === 'fenced') ? life.rejoin() : null
    refreshed?.catch(() => {})
    rejoined?.catch(() => {})
    return rows.map((row) => ({
      row,
      ready: row.code === 'stale' ? refreshed : row.code === 'fenced' ? rejoined : null,
    }))
  }
  /** Whatever became of them, once the database is back. */
  const forget = (ids: readonly GenerationId[]): void => {
    database.track(giveUp(database, ids, clock.now())).catch(() => {})
  }
  const admit = batched(askAll(true))
  const judge = batched(askAll(false))

  const ask = async (claim: Claim, by: typeof admit): Promise<Verdict | Repeated | Stale> => {
    const { row, ready } = await by(claim)
    if (ready !== null) await ready
    const verdict = toVerdict(row, claim)
    if (typeof verdict !== 'object' || !('kept' in verdict)) return verdict
    const { keyId, repeat, at } = claim
    const answer = repeat && (await findKept(database, keyId, repeat, at))
    // Removed in between: it is asked once more.
    if (answer?.is !== 'kept') return await ask(claim, by)
    return { admitted: false, refusal: null, repetition: answer }
  }

  const settleAll = batched(async (batch: readonly Ended[]) => {
    let isKnown = true
    const settleOnce = () => repeated(() => askSettlement(lanes.settle, batch))
    const { ids, passed } = await untilDone(settleOnce, () => {
      isKnown = false
    })
    // Whoever reads notices looks for what is left to tell; a charge does not wait for its words.
    if (passed) database.track(marks.tell()).catch(() => {})
    const told = new Set<GenerationId>()
    return batch.map(({ id }) => {
      // Of one that was lost nobody knows which call has settled it: it was one of these.
      if ((isKnown && !ids.has(id)) || told.has(id)) return false
      told.add(id)
      return true
    })
  })

  return {
    admit: (claim) => ask(claim, admit),
    judge: (claim) => ask({ ...claim, repeat: null }, judge) as Promise<Verdict | Stale>,
    settle: (id, settlement) => database.track(settleAll({ id, settlement })),
    async renew({ epoch }) {
      const ended = await database.get('SELECT 1 FROM ended_epochs WHERE epoch = ?', epoch)
      return ended === null
    },
    async expire(epochs, at) {
      await database.flush()
      await expire(database, 'void', epochs, at)
    },
    async trim(now) {
      const old = later(now, -SLOT_KEPT_MS)
      for (let gone = TRIMMED; gone === TRIMMED; ) gone = await database.run(TRIM, { old })
    },
    ...readUse(database),
  }
}

/** The longest window looks back for a day; the second one is for clocks that were set. */
const SLOT_KEPT_MS = 2 * DAY_MS
/** A tenth of a second. Every node does it: what another is at is left to it. */
const TRIMMED = 10_000
/** Old by the clock, and on the time line of its account: that is ahead of a clock that was ahead and has been set back since. */
const TRIM = `DELETE FROM slots WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM slots WHERE at < $old
    AND pos < $old + (SELECT set_back FROM account_state s WHERE s.account_id = slots.account_id)
  LIMIT ${TRIMMED} FOR UPDATE SKIP LOCKED))`

type Reading = Pick<
  Admissions,
  'accountUse' | 'quota' | 'spending' | 'usage' | 'spend' | 'spendByDay' | 'spendByKey'
>

function readUse(database: Database): Reading {
  const usageOf = async (
    ids: readonly KeyId[],
    at: Instant,
    windows: boolean,
    byClock: boolean,
  ) => {
    await database.flush()
    const rows = await database.all<UsageRow>(
      'SELECT * FROM usage_of(?::text[], ?, ?, ?) ORDER BY o',
      ids,
      at,
      windows,
      byClock,
    )
    const missing = rows.findIndex(({ known }) => !known)
    if (missing >= 0) throw keyNotFound(ids[missing] as KeyId)
    return rows
  }

  return {
    quota: async (ids, at) => (await usageOf(ids, at, true, false)).map(toReadings),
    spending: async (ids, at) => (await usageOf(ids, at, false, false)).map(toSpending),
    async usage(keyId, at) {
      const [row] = await usageOf([keyId], at, true, true)
      if (row === undefined) throw keyNotFound(keyId)
      return {
        requestsMinute: row.minute_used ?? 0,
        requestsDay: row.day_used ?? 0,
        tokensMinute: row.tokens_used ?? 0,
        ...toSpending(row),
      }
    },
    async accountUse(ids, at) {
      await database.flush()
      const rows = await database.all<AccountRow>(
        'SELECT * FROM account_use(?::text[], ?) ORDER BY o',
        ids,
        at,
      )
      return rows.map((row) => ({
        ...toReadings(row),
        requestsInProgress: row.in_progress,
        spendDay: row.spent_day === null ? null : (BigInt(row.spent_day) as UsdNanos),
        spendMonth: row.spent_month === null ? null : (BigInt(row.spent_month) as UsdNanos),
      }))
    },
    async spend(at) {
      await database.flush()
      return await readSpend(database, at)
    },
    async spendByDay(since) {
      await database.flush()
      const rows = await database.all<{
        account_id: AccountId
        day: Day
        spent: string
        requests: number
      }>(
        `SELECT account_id, day, sum(spent_nanos)::text AS spent, sum(requests)::bigint AS requests
         FROM (${ACCOUNT_DAYS}) d WHERE day >= ? GROUP BY 1, 2
         HAVING sum(spent_nanos) > 0 OR sum(requests) > 0 ORDER BY 2, 1`,
        since,
      )
      return rows.map(({ account_id: accountId, day, spent, requests }) => ({
        accountId,
        day,
        spent: BigInt(spent) as UsdNanos,
        requests,
      }))
    },
    spendByKey: (query) => readKeyDays(database, query),
  }
}

const toSpending = (row: UsageRow): KeySpending => ({
  spendDay: BigInt(row.spent_day) as UsdNanos,
  spendMonth: BigInt(row.spent_month) as UsdNanos,
  reserved: BigInt(row.held) as UsdNanos,
  requestsInProgress: row.in_progress,
})

async function readSpend(database: Database, at: Instant): Promise<Spend> {
  const today = dayOf(at)
  const month = monthStart(today)
  const row = await database.get<{ day: string; month: string }>(
    `SELECT coalesce(sum(spent_nanos) FILTER (WHERE day = $today), 0)::text AS day, coalesce(sum(spent_nanos), 0)::text AS month
     FROM key_days WHERE day >= $month AND day < $next`,
    { today, month, next: nextMonthStart(month) },
  )
  return { day: BigInt(row?.day ?? 0) as UsdNanos, month: BigInt(row?.month ?? 0) as UsdNanos }
}

async function readKeyDays(
  database: Database,
  { madeBy, ...of }: KeyDaysQuery,
): Promise<readonly KeyDaySpend[] | null> {
  await database.flush()
  const rows = await database.all<{
    /** Null for what was moved. */
    key_id: KeyId | null
    day: Day
    spent: string
    requests: number
  }>(
    `SELECT d.key_id, d.day, d.spent_nanos::text AS spent, d.requests FROM keys k JOIN key_days d ON d.key_id = k.id
     WHERE k.account_id = $accountId AND ($maker::text IS NULL OR k.made_by = $maker) AND d.day >= $since AND d.day < $before
     UNION ALL
     SELECT NULL, day, spent_nanos::text, requests FROM moved_days
     WHERE account_id = $accountId AND day >= $since AND day < $before AND (spent_nanos <> 0 OR requests <> 0)
     LIMIT ${MAX_KEY_DAYS + 1}`,
    { ...of, maker: madeBy ?? null },
  )
  const found = rows.flatMap(({ key_id: keyId, spent, ...row }) =>
    keyId === null ? [] : [{ ...row, keyId, spent: BigInt(spent) as UsdNanos }],
  )
  return found.length < rows.length || rows.length > MAX_KEY_DAYS ? null : found
}
