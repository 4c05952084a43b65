/** The mark of an account that is low: written with its notices in the transaction of the movement. */
import type { Catalogue } from '#domain/catalogue.ts'
import { draftNotices, type LowBalanceFacts } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import { writeNotice } from '../outbox/outbox.ts'
import type { MarkChange } from '../rows/low-balance.ts'
import { run, type Statements } from '../statements.ts'

/** `catalogue` knows the rate. */
export function* writeMark(
  { accountId, mark, facts, channels }: MarkChange,
  catalogue: Catalogue,
): Statements<void> {
  yield* run('UPDATE thresholds SET notified_at = $at WHERE account_id = $accountId', {
    accountId,
    at: mark?.notifiedAt ?? null,
  })
  if (facts !== null) yield* tellLowBalance(facts, channels, catalogue)
}

export function* tellLowBalance(
  facts: Omit<LowBalanceFacts, 'rubPerUsd'>,
  channels: MarkChange['channels'],
  catalogue: Catalogue,
): Statements<void> {
  const { rubPerUsd } = rateAt(catalogue, facts.at)
  for (const notice of draftNotices({ ...facts, rubPerUsd }, channels)) yield* writeNotice(notice)
}
