/** The rows that a request writes, as prepared statements; a kept answer is staged before them (`answers.ts`). */
import type { Database, SQLQueryBindings } from 'bun:sqlite'
import type { ActivityEntry } from '#domain/activity.ts'
import type { Catalogues } from '#domain/catalogue.ts'
import type { Day, Instant } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import { type AccountId, chargeEntryId, type GenerationId, type KeyId } from '#domain/id.ts'
import type { StagedAnswer } from '#domain/idempotency.ts'
import type { Charge } from '#domain/ledger.ts'
import { renderRubPerUsd, type UsdNanos } from '#domain/money.ts'
import { writeMark } from '../../money/low-balance.ts'
import { raise } from '../../outbox/raise.ts'
import { ACTIVITY_COLUMNS, activityValues } from '../../rows/activity-row.ts'
import type { MarkChange } from '../../rows/low-balance.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { statement } from '../engine/statement.ts'
import { prepareStay } from '../money/moved-days.ts'
import { prepareSums } from '../money/sums.ts'
import type { HeldNoticeSettings } from '../outbox/notice-settings.ts'
import type { OpenHold } from './hot-state.ts'
import type { WindowSlots } from './window-slots.ts'

export interface Writer {
  hold(hold: OpenHold): void
  release(id: GenerationId): void
  /** The balance follows when the transaction closes. */
  charge(hold: OpenHold, charge: Charge, at: Instant): void
  mark(change: MarkChange): void
  /** With its notices, unless it was told before. */
  raise(event: RaisedEvent): void
  /** From now on it is found, and none that was found before by its name. */
  show(answer: StagedAnswer): void
  /** The day's sums follow when the transaction closes. */
  spend(keyId: KeyId, day: Day, amount: UsdNanos, endUser: string | null): void
  /** Of a request whose key may have been moved since: it counts where it was admitted. */
  stay(payer: AccountId, keyId: KeyId, day: Day, amount: UsdNanos): void
  used(keyId: KeyId, at: Instant): void
  activity(entry: ActivityEntry, admittedAt: Instant | null): void
}

/**
 * Drizzle would build these statements anew for every row; a request cannot afford that. Those of every request are prepared when
 * the store opens (a tenth of a millisecond for all), the others when they are first run.
 */
export function prepareWriter(
  connection: Connection,
  slots: WindowSlots,
  catalogue: Catalogues,
  noticeSettings: HeldNoticeSettings,
): Writer {
  const { database } = connection
  const sums = prepareSums(connection)
  const runNow = prepareRunNow(database)
  const insertHold = statement<unknown, SQLQueryBindings[]>(
    database,
    `INSERT INTO holds (generation_id, request_id, account_id, key_id, model, amount_nanos, admitted_at,
       end_user, counted_as, day, node, epoch, idempotency_key, body_sha256, surface, session)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const deleteHold = statement<unknown, SQLQueryBindings[]>(
    database,
    'DELETE FROM holds WHERE generation_id = ?',
  )
  const insertCharge = database.prepare<unknown, SQLQueryBindings[]>(
    `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd,
       price_version, day, end_user)
     VALUES (?, ?, 'charge', ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const markUse = statement<unknown, SQLQueryBindings[]>(
    database,
    'UPDATE keys SET last_used_at = ? WHERE id = ?',
  )
  return {
    hold({ claim, account, grant, day, endUser: counted }) {
      const { generationId, requestId, keyId, model, at, endUser } = claim
      const { surface, session, owner, repeat } = claim
      insertHold().run(
        generationId,
        requestId,
        account.id,
        keyId,
        model,
        Number(grant.hold),
        at,
        endUser,
        counted?.name ?? null,
        day,
        owner.node,
        owner.epoch,
        repeat === null ? null : repeat.key,
        repeat === null ? null : repeat.digest,
        surface,
        session,
      )
    },
    release(id) {
      deleteHold().run(id)
    },
    charge({ claim, account, day, endUser }, { amount, rubPerUsd, priceVersion }, at) {
      const { generationId, keyId } = claim
      const { id: accountId } = account
      insertCharge.run(
        chargeEntryId(generationId),
        accountId,
        -Number(amount),
        at,
        keyId,
        generationId,
        renderRubPerUsd(rubPerUsd),
        priceVersion,
        day,
        endUser?.name ?? null,
      )
      sums.debit(accountId, amount)
    },
    mark: (change) => runNow(writeMark(change, catalogue.current())),
    raise: (event) => void runNow(raise(event, noticeSettings.read)),
    show: prepareShow(database),
    spend: sums.spend,
    stay: prepareStay(database),
    used(keyId, at) {
      markUse().run(at, keyId)
    },
    activity: prepareActivity(connection, slots),
  }
}

function prepareShow(database: Database): Writer['show'] {
  const hide = statement<unknown, [number]>(
    database,
    `UPDATE answers SET whole = 0 WHERE whole = 1
       AND (key_id, idempotency_key) = (SELECT key_id, idempotency_key FROM answers WHERE id = ?)`,
  )
  const show = statement<unknown, [number]>(database, 'UPDATE answers SET whole = 1 WHERE id = ?')
  return ({ id }) => {
    hide().run(id)
    show().run(id)
  }
}

/** A second line of the same generation is not written. */
function prepareActivity(
  { database, lateLines }: Connection,
  slots: WindowSlots,
): Writer['activity'] {
  const insert = database.prepare<unknown, SQLQueryBindings[]>(
    `INSERT INTO activity (${ACTIVITY_COLUMNS.join(', ')}) VALUES (${ACTIVITY_COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (generation_id) DO NOTHING`,
  )
  return (entry, admittedAt) => {
    const { changes } = insert.run(...activityValues(entry, admittedAt))
    if (admittedAt === null || changes === 0) return
    lateLines.note(entry.generationId)
    slots.note(entry.keyId, admittedAt, entry.generationId)
  }
}
