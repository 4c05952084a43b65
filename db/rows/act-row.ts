/** An act as its row and as the domain's noun. */
import type { Act, ActChanges } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { ActId } from '#domain/id.ts'

export type ActRow = {
  readonly id: ActId
  readonly at: Instant
  readonly who: string
  readonly verb: string
  readonly target: string | null
  readonly changed: string
}

export const toAct = (row: ActRow): Act => ({ ...row, changed: JSON.parse(row.changed) })

/** `seen` is what the transaction adds to the act; null for one without changes, which is not written. */
export function toActRow({ changed: stated, ...act }: Act, seen: ActChanges = {}): ActRow | null {
  const changed = { ...stated, ...seen }
  return Object.keys(changed).length === 0 ? null : { ...act, changed: JSON.stringify(changed) }
}
