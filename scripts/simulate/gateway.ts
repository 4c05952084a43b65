/** The gateway that is tried. */
import type { Furniture } from './furnish.ts'
import type { Books } from './promises.ts'

/** A gateway of several processes, or of several nodes. */
export interface Gateway {
  readonly furniture: Furniture
  /** Names whose request was ended by others while it ran: it may be charged beside the one that came after it. */
  readonly mayRepeat: ReadonlySet<string>
  /** One fault, of those that it knows. */
  fail(): void
  /** Nothing fails any more: what is down comes up again. */
  heal(): void
  books(): Books
  /** What was seen to be wrong while it ran. */
  faults(): readonly string[]
  close(): void
}
