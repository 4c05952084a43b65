/** Releases the holds of epochs that ended, and logs their requests as failed. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Admissions, OpenAdmission } from '#domain/admission.ts'
import { type Day, elapsedMs, type Instant } from '#domain/clock.ts'
import type { AccountId, EpochId, GenerationId, KeyId } from '#domain/id.ts'
import { NO_MONEY, type RubMicros } from '#domain/money.ts'
import type { Owner } from '#domain/owner.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Dialect } from '#domain/work.ts'
import { fromInteger } from '../../rows/amount.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { statement } from '../engine/statement.ts'
import type { HotState, OpenHold } from './hot-state.ts'
import type { Repeats } from './repeats.ts'
import type { Writer } from './writer.ts'

export interface HoldRow {
  readonly generation_id: GenerationId
  readonly request_id: string
  readonly account_id: AccountId
  readonly key_id: KeyId
  readonly model: string
  readonly amount_nanos: number
  readonly admitted_at: Instant
  readonly day: Day
  readonly end_user: string | null
  readonly counted_as: string | null
  readonly surface: Dialect
  readonly session: string | null
}

export interface Expiry extends Pick<Admissions, 'renew' | 'expire' | 'trim'> {
  /** All but this one, and what is told to be in progress still: the lock on the directory proves that every other has ended. */
  expireOthers({ epoch }: Owner, held: readonly OpenAdmission[], at: Instant): void
}

const NOTHING = { spent: NO_MONEY, usage: NO_USAGE }

/**
 * No answer of these requests was completed (its charge would have been committed first, and the hold with it), so
 * nothing is known that could be charged. Their window slots stay taken.
 */
export function prepareExpiry(
  { database, commit }: Connection,
  hotState: HotState,
  writer: Writer,
  repeats: Repeats,
  ended: Set<EpochId>,
): Expiry {
  const ofOthers = statement<HoldRow, [EpochId]>(database, 'SELECT * FROM holds WHERE epoch <> ?')
  const ofSome = statement<HoldRow, [string]>(
    database,
    'SELECT * FROM holds WHERE epoch IN (SELECT value FROM json_each(?))',
  )

  const release = (holds: readonly HoldRow[], at: Instant): void => {
    const open: OpenHold[] = []
    for (const hold of holds) {
      const resolved = hotState.resolve(hold.generation_id, NOTHING)
      if (resolved) open.push(resolved)
      commit.defer(() => {
        writer.release(hold.generation_id)
        writer.spend(hold.key_id, hold.day, NO_MONEY, hold.counted_as)
        writer.stay(hold.account_id, hold.key_id, hold.day, NO_MONEY)
        writer.activity(toActivity(hold, elapsedMs(hold.admitted_at, at)), hold.admitted_at)
      })
    }
    commit.flush()
    for (const hold of open) repeats.ended(hold)
  }

  return {
    expireOthers({ epoch }, held, at) {
      const kept = new Map(held.map((one) => [one.claim.generationId, one]))
      const ended: HoldRow[] = []
      for (const row of ofOthers().all(epoch)) {
        const one = kept.get(row.generation_id)
        // Without its row it has ended in the hands of another.
        const hold = one && hotState.adopt(one, at)
        if (hold) repeats.began(hold)
        else ended.push(row)
      }
      release(ended, at)
    },
    renew: async ({ epoch }) => !ended.has(epoch),
    trim: async () => {},
    async expire(epochs, at) {
      for (const epoch of epochs) ended.add(epoch)
      // A hold may not have its row yet.
      commit.flush()
      if (!commit.writable) throw unavailable()
      release(ofSome().all(JSON.stringify(epochs)), at)
      await commit.synced()
    },
  }
}

const toActivity = (hold: HoldRow, totalMs: number): ActivityEntry => ({
  generationId: hold.generation_id,
  requestId: hold.request_id,
  accountId: hold.account_id,
  keyId: hold.key_id,
  model: hold.model,
  provider: null,
  credential: null,
  endUser: hold.end_user,
  surface: hold.surface,
  session: hold.session,
  node: null,
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
  modifiers: [],
  cutTools: [],
  cost: NO_MONEY,
  queuedMs: 0,
  image: null,
  statedCost: null,
  failedAttempts: [],
  unchargedCost: NO_MONEY,
  hold: fromInteger(hold.amount_nanos),
  loweredBound: null,
  refusal: null,
  costRub: 0n as RubMicros,
})
