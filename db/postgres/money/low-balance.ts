/** The mark of an account that is low, judged after a credit or a change of the threshold; charges are judged by `settle`. */
import type { Catalogues } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { channelsOf, type Mark, type Threshold } from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { draftNotices, type LowBalanceFacts } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import { writeNotice } from '../../outbox/outbox.ts'
import {
  type HotThreshold,
  type MarkChange,
  toHotThreshold,
  toThreshold,
} from '../../rows/low-balance.ts'
import type { Sql } from '../engine/database.ts'
import { send } from '../engine/engine.ts'

/** Writes a change of the mark, in the transaction of the movement. */
export async function writeMark(tx: Sql, catalogue: Catalogues, change: MarkChange): Promise<void> {
  const { accountId, mark, facts, channels } = change
  await tx.run(
    'UPDATE thresholds SET notified_at = ? WHERE account_id = ?',
    mark?.notifiedAt ?? null,
    accountId,
  )
  if (facts !== null) await tellLowBalance(tx, catalogue, facts, channels)
}

export async function tellLowBalance(
  tx: Sql,
  catalogue: Catalogues,
  facts: Omit<LowBalanceFacts, 'rubPerUsd'>,
  channels: MarkChange['channels'],
): Promise<void> {
  const { rubPerUsd } = rateAt(catalogue.current(), facts.at)
  for (const notice of draftNotices({ ...facts, rubPerUsd }, channels))
    await send(tx, writeNotice(notice))
}

export interface ThresholdRow {
  readonly account_id: AccountId
  readonly below_nanos: number | null
  readonly email: string | null
  readonly webhook_url: string | null
  readonly sealed_webhook_secret: string | null
  readonly notified_at: Instant | null
}

/** Nothing in it where none was ever set. */
type FoundThreshold = Partial<ThresholdRow>

export const thresholdOf = (
  accountId: AccountId,
  { below_nanos: below, email = null, webhook_url: webhookUrl = null }: FoundThreshold,
): Threshold =>
  toThreshold(accountId, {
    below: below == null ? null : (BigInt(below) as UsdNanos),
    email,
    webhookUrl,
  })

export const markOf = ({ notified_at: notifiedAt }: FoundThreshold): Mark | null =>
  notifiedAt == null ? null : { notifiedAt }

/** As a movement judges it. */
export const hotThresholdOf = (accountId: AccountId, row: FoundThreshold): HotThreshold | null =>
  toHotThreshold(thresholdOf(accountId, row), markOf(row))

export const channelsOfRow = ({ email, webhook_url: webhookUrl }: ThresholdRow) =>
  channelsOf({ email, webhookUrl })
