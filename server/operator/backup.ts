/** Records backups and restores as acts; the copy itself is made by `cli/backup/`. */
import * as z from 'zod/mini'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { draftEvent } from '#domain/event.ts'
import { timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { mutation } from './verb.ts'

const pathField = z.string().check(z.minLength(1), z.maxLength(4_096))

/** Records that a backup was taken. */
export const noteBackup = mutation(
  'backup',
  z.strictObject({
    file: pathField,
    size_bytes: z.int().check(z.minimum(0)),
    taken_at: timeField,
  }),
  async ({ store, clock }, { file, size_bytes, taken_at: takenAt }, act) => {
    const taken_at = renderInstant(takenAt)
    await store.acts.note(act(file, { size_bytes, taken_at }))
    await store.events.lift('gateway.backup_failed', 'backup', clock.now(), null)
    return { file, taken_at }
  },
)

/** Tells the operator that a backup failed, until one succeeds. */
export const noteFailedBackup = mutation(
  'backup.failed',
  z.strictObject({
    /** Null where it failed before a file was chosen. */
    file: z.nullable(pathField),
    reason: z.string().check(z.minLength(1), z.maxLength(4_096)),
  }),
  async ({ store, clock }, { file, reason }, act) => {
    const event = draftEvent('gateway.backup_failed', { file, reason }, clock.now())
    return { told: await store.events.raise(event, act(file, { reason })) }
  },
)

/** Records that a backup was restored. */
export const noteRestore = mutation(
  'backup.restore',
  z.strictObject({ file: pathField, replaced: z.nullable(pathField) }),
  async ({ store }, { file, replaced }, act) => {
    await store.acts.note(act(file, { replaced }))
    return { file, replaced }
  },
)

/** When the latest backup was recorded; null if none was. */
export async function lastBackupAt({
  store,
}: Pick<OperatorDeps, 'store'>): Promise<Instant | null> {
  const [last] = await store.acts.list({ verb: 'backup', limit: 1 })
  return last?.at ?? null
}
