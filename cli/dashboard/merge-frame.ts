/** Merges a frame into the previous snapshot: its parts replace the old ones, its log lines go on top. */
import type { FrameRecord, LogRecord, SnapshotRecord } from '#operator/snapshot/record.ts'

const MAX_LINES = 500
const MAX_ERRORS = 100

/** `before` is null for the first frame, which is complete. */
export function mergeFrame(before: SnapshotRecord | null, frame: FrameRecord): SnapshotRecord {
  if (before === null) return frame as SnapshotRecord
  const { log, errors, ...parts } = frame
  return {
    ...before,
    ...parts,
    log: onTop(log, before.log, MAX_LINES),
    errors: onTop(errors, before.errors, MAX_ERRORS),
  }
}

const onTop = (
  fresh: readonly LogRecord[] | undefined,
  known: readonly LogRecord[],
  most: number,
): readonly LogRecord[] => (fresh === undefined ? known : [...fresh, ...known].slice(0, most))
