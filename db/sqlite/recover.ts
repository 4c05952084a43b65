/** What a killed process left behind: every open hold is voided, and its request noted as one that the gateway broke off. */
import type { ActivityEntry } from '#domain/activity.ts'
import { dayOf } from '#domain/clock.ts'
import { NO_MONEY, type RubMicros } from '#domain/money.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Connection } from './connection.ts'
import { holds } from './schema.ts'
import type { Writer } from './writer.ts'

type HoldRow = typeof holds.$inferSelect

/**
 * No answer of these requests was completed (its charge would have been committed first, and the hold with it), so
 * nothing is known that could be charged. Their window slots stay taken. Returns how many there were.
 */
export function voidOpenHolds({ drizzle, commit, clock }: Connection, writer: Writer): number {
  const open = drizzle.select().from(holds).all()
  if (open.length === 0) return 0
  const at = clock.now()
  for (const hold of open) {
    const resolve = () => {
      writer.release(hold.generationId)
      writer.spend(hold.keyId, dayOf(hold.admittedAt), NO_MONEY)
      writer.activity(toActivity(hold, Math.max(0, at - hold.admittedAt)), hold.admittedAt)
    }
    commit.defer(resolve)
  }
  commit.flush()
  return open.length
}

const toActivity = (hold: HoldRow, totalMs: number): ActivityEntry => ({
  generationId: hold.generationId,
  requestId: hold.requestId,
  accountId: hold.accountId,
  keyId: hold.keyId,
  model: hold.model,
  provider: null,
  endUser: null,
  stream: false,
  status: 500,
  code: 'internal_error',
  endedBy: 'gateway',
  finishReason: null,
  startedAt: hold.admittedAt,
  firstEventMs: null,
  totalMs,
  usage: NO_USAGE,
  usageSource: null,
  cost: NO_MONEY,
  costRub: 0n as RubMicros,
})
