/** An act as its row and as the domain's noun. */
import type { Act } from '#domain/act.ts'
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
