/** Since when the activity log is complete, for answers that may lack removed entries. */
import * as z from 'zod/mini'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { orNull, timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { verb } from './verb.ts'

/** Null when all requests since `since` (null: ever) are in the log; otherwise the time before which ended requests were removed. */
export async function keptSince(
  { store }: Pick<OperatorDeps, 'store'>,
  since: Instant | null,
): Promise<string | null> {
  const kept = await store.activity.keptSince()
  return kept === null || (since !== null && since >= kept) ? null : renderInstant(kept)
}

/** The same as a verb, for verbs whose answer is a list. */
export const showKeptSince = verb(
  z.strictObject({ since: orNull(timeField) }),
  async (deps, { since }) => ({ kept_since: await keptSince(deps, since) }),
)
