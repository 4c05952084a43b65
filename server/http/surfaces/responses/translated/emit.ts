/** How an item of an answer says what becomes of it: an event of the stream, numbered by whoever sends it. */
import type { JsonObject } from '#domain/chat.ts'

export type Emit = (type: string, fields: JsonObject) => void

/** Of an item: as its stream began or left it. An answer that ended early leaves its last item incomplete. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item of the output, open until it is closed. */
export interface Item {
  /** Its events once it is whole. */
  close(emit: Emit, status: ItemStatus): void
  render(): JsonObject
}
