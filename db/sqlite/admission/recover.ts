/** Recovery after a crash: voids open holds, logs their requests as failed, and ends leases of notices. */
import type { ActivityEntry } from '#domain/activity.ts'
import { dayOf, type Instant } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import { NO_MONEY, type RubMicros } from '#domain/money.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { fromInteger } from '../money/amount.ts'
import type { Writer } from './writer.ts'

interface HoldRow {
  readonly generation_id: GenerationId
  readonly request_id: string
  readonly account_id: AccountId
  readonly key_id: KeyId
  readonly model: string
  readonly admitted_at: Instant
  readonly end_user: string | null
  readonly amount_nanos: number
}

/**
 * No answer of these requests was completed (its charge would have been committed first, and the hold with it), so
 * nothing is known that could be charged. Their window slots stay taken. Returns how many there were.
 */
export function voidOpenHolds({ database, commit, clock }: Connection, writer: Writer): number {
  const open = statement<HoldRow>(database, 'SELECT * FROM holds')().all()
  if (open.length === 0) return 0
  const at = clock.now()
  for (const hold of open) {
    const resolve = () => {
      writer.release(hold.generation_id)
      writer.spend(hold.key_id, dayOf(hold.admitted_at), NO_MONEY, null)
      writer.activity(toActivity(hold, Math.max(0, at - hold.admitted_at)), hold.admitted_at)
    }
    commit.defer(resolve)
  }
  commit.flush()
  return open.length
}

/** The lock on the directory proves that the previous courier is gone, so its leases need not expire first. */
export function endLeases({ database, commit }: Connection): void {
  const held = "state = 'pending' AND lease_until IS NOT NULL"
  const some = statement(database, `SELECT 1 FROM outbox WHERE ${held} LIMIT 1`)
  if (some().all().length === 0) return
  const end = statement(database, `UPDATE outbox SET lease_until = NULL WHERE ${held}`)
  commit.defer(() => {
    end().run()
  })
  commit.flush()
}

const toActivity = (hold: HoldRow, totalMs: number): ActivityEntry => ({
  generationId: hold.generation_id,
  requestId: hold.request_id,
  accountId: hold.account_id,
  keyId: hold.key_id,
  model: hold.model,
  provider: null,
  endUser: hold.end_user,
  stream: false,
  status: 500,
  code: 'internal_error',
  endedBy: 'gateway',
  finishReason: null,
  startedAt: hold.admitted_at,
  firstEventMs: null,
  totalMs,
  usage: NO_USAGE,
  usageSource: null,
  cost: NO_MONEY,
  queuedMs: 0,
  image: null,
  statedCost: null,
  failedAttempts: [],
  withheldCost: NO_MONEY,
  hold: fromInteger(hold.amount_nanos),
  loweredBound: null,
  refusal: null,
  costRub: 0n as RubMicros,
})
