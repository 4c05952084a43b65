/** When keys were last used: updated in memory at once, and written once a minute per key, as it is informational. */
import type { Instant } from '#domain/clock.ts'
import type { HotKey } from '../admission/hot-state.ts'
import type { Writer } from '../admission/writer.ts'
import type { GroupCommit } from '../engine/group-commit.ts'

const WRITE_INTERVAL_MS = 60_000

/** Records a use; the row is written later. */
export type NoteUse = (hot: HotKey, at: Instant) => void

export function prepareNoteUse({ defer }: GroupCommit, writer: Writer): NoteUse {
  const write = ({ key, useWrittenAt }: HotKey): void => {
    if (useWrittenAt !== null) writer.used(key.id, useWrittenAt)
  }
  return (hot, at) => {
    hot.lastUsedAt = at
    if (!isDue(hot, at)) return
    hot.useWrittenAt = at
    defer(write, hot)
  }
}

/** What was written further ahead was written before the clock was set back. */
const isDue = ({ useWrittenAt }: HotKey, at: Instant): boolean =>
  useWrittenAt === null || Math.abs(at - useWrittenAt) >= WRITE_INTERVAL_MS
