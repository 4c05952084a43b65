/** Since when the log is whole: what an answer from the log says beside itself, where it may lack something. */
import * as z from 'zod/mini'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { verb } from './verb.ts'

/** Null where all is there that came at `since` or later (null is whenever); else the instant before which an end is not kept. */
export async function keptSince(
  { store }: Pick<OperatorDeps, 'store'>,
  since: Instant | null,
): Promise<string | null> {
  const kept = await store.activity.keptSince()
  return kept === null || (since !== null && since >= kept) ? null : renderInstant(kept)
}

/** The same for answers that are lists. */
export const showKeptSince = verb(
  z.strictObject({ since: z._default(z.nullable(timeField), null) }),
  async (deps, { since }) => ({ kept_since: await keptSince(deps, since) }),
)
