/** The log of acts (the audit trail): who changed what, and when. */

import * as z from 'zod/mini'
import type { Act, ActChanges } from '#domain/act.ts'
import { renderInstant } from '#domain/clock.ts'
import type { ActId } from '#domain/id.ts'
import { statedIn } from '#domain/stated.ts'
import { orNull, pageField, timeField } from '#forms/fields.ts'
import { verb } from './verb.ts'

export interface ActRecord {
  readonly id: string
  readonly at: string
  /** "uid 1000 (ann)", or the id of a provisioning key. */
  readonly who: string
  /** "limits.set" */
  readonly verb: string
  readonly target: string | null
  readonly changed: ActChanges
}

const render = ({ id, at, who, verb, target, changed }: Act): ActRecord => ({
  id,
  at: renderInstant(at),
  who,
  verb,
  target,
  changed,
})

const MAX_ACTS = 10_000

/** Newest first. */
export const listActs = verb(
  z.strictObject({
    since: orNull(timeField),
    until: orNull(timeField),
    /** The last act of the page before. */
    before: orNull(z.string()),
    limit: pageField(MAX_ACTS),
  }),
  async ({ store }, { since, until, before, limit }): Promise<readonly ActRecord[]> => {
    const filter = statedIn({ since, until, before: before as ActId | null })
    return (await store.acts.list({ ...filter, limit })).map(render)
  },
)
