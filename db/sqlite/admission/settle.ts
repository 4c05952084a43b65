/** Settlement: resolves an admission in memory in one turn; the promise resolves once it is committed. */
import type { Admissions, Settlement } from '#domain/admission.ts'
import type { Instant } from '#domain/clock.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { isWaiting } from '../engine/group-commit.ts'
import { judgeMark, type MarkChange } from '../money/low-balance.ts'
import type { HotState, OpenHold } from './hot-state.ts'
import type { Repeats } from './repeats.ts'
import type { Writer } from './writer.ts'

/** What is written of a request that ended. */
interface Ended {
  readonly hold: OpenHold
  readonly settlement: Settlement
  readonly amount: UsdNanos
  readonly change: MarkChange | null
}

export function prepareSettle(
  { commit, syncCharges }: Connection,
  hotState: HotState,
  writer: Writer,
  repeats: Repeats,
): Admissions['settle'] {
  const write = ({ hold, settlement, amount, change }: Ended): void => {
    const { claim, day, endUser } = hold
    const { at, charge, activity, answer } = settlement
    if (hold.rowWrite?.state === 'committed') writer.release(claim.generationId)
    if (charge) writer.charge(hold, charge, at)
    if (change) writer.mark(change)
    if (answer) writer.show(answer)
    writer.spend(claim.keyId, day, amount, endUser === null ? null : endUser.name)
    writer.activity(activity, claim.at)
  }

  const settle: Admissions['settle'] = (id, settlement) => {
    const { at, charge } = settlement
    const amount = charge === null ? NO_MONEY : charge.amount
    const hold = hotState.resolve(id, amount)
    if (!hold) return RESOLVED_BEFORE
    const change = judgeDebit(hold, amount, at)
    const written = commit.push(write, { hold, settlement, amount, change })
    // With no other request in progress there is nothing to group with, so commit at once.
    if (hotState.open.size === 0) commit.endTurn()
    const committed = isWaiting(written) ? commit.committed(written) : COMMITTED
    if (hold.claim.repeat !== null) {
      const ended = (): void => repeats.ended(hold)
      void committed.then(ended, ended)
    }
    return syncCharges ? committed.then(() => commit.synced()).then(() => true) : committed
  }

  return (id, settlement) => {
    try {
      return settle(id, settlement)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }
}

const COMMITTED: Promise<true> = Promise.resolve(true)
const RESOLVED_BEFORE: Promise<false> = Promise.resolve(false)

/** Judged in the turn that changed the balance, so that only one of many concurrent debits notifies. */
function judgeDebit(
  { claim, account: { threshold, balance } }: OpenHold,
  amount: UsdNanos,
  at: Instant,
): MarkChange | null {
  if (threshold === null || amount === NO_MONEY) return null
  const change = judgeMark(claim.accountId, threshold, balance, 'debit', at)
  if (change) threshold.mark = change.mark
  return change
}
