/** The mark of an account that is low, as a movement judges it, and the row of its threshold. */
import type { Instant } from '#domain/clock.ts'
import { type AccountId, newEventId } from '#domain/id.ts'
import {
  channelsOf,
  judgeLowBalance,
  type Mark,
  type Movement,
  type Threshold,
} from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { Channel, LowBalanceFacts } from '#domain/notice.ts'
import { fromInteger } from './amount.ts'

/** Beside its account; all null where none was ever set. */
export interface ThresholdRow {
  readonly below_nanos: number | null
  readonly email: string | null
  readonly webhook_url: string | null
  readonly notified_at: Instant | null
}

/** A threshold as movements need it; an account that asks for no notice has none. */
export interface HotThreshold {
  readonly below: UsdNanos
  readonly channels: readonly Channel[]
  mark: Mark | null
}

/** What a movement did to the mark. */
export interface MarkChange {
  readonly accountId: AccountId
  readonly mark: Mark | null
  /** What a notice on each channel says; null where none is due. */
  readonly facts: Omit<LowBalanceFacts, 'rubPerUsd'> | null
  readonly channels: readonly Channel[]
}

export const toThreshold = (accountId: AccountId, row: ThresholdRow): Threshold => ({
  accountId,
  below: row.below_nanos === null ? null : fromInteger<UsdNanos>(row.below_nanos),
  email: row.email,
  webhookUrl: row.webhook_url,
})

export const toMark = ({ notified_at: notifiedAt }: ThresholdRow): Mark | null =>
  notifiedAt === null ? null : { notifiedAt }

export const toHotThreshold = (
  { below, ...where }: Pick<Threshold, 'below' | 'email' | 'webhookUrl'>,
  mark: Mark | null,
): HotThreshold | null => (below === null ? null : { below, channels: channelsOf(where), mark })

/** Null when the mark stays as it is; memory is the caller's to change. */
export function judgeMark(
  accountId: AccountId,
  { below, channels, mark }: HotThreshold,
  balance: UsdNanos,
  movement: Movement,
  at: Instant,
): MarkChange | null {
  const verdict = judgeLowBalance(balance, below, mark, movement, at)
  if (verdict.mark === mark) return null
  const facts = verdict.notify ? { eventId: newEventId(at), accountId, at, balance, below } : null
  return { accountId, mark: verdict.mark, facts, channels }
}
