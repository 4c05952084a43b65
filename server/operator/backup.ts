/** Backups, as the gateway remembers them: the copy itself is made beside it (`cli/backup/`), and noted here. */
import * as z from 'zod/mini'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { mutation } from './verb.ts'

const pathField = z.string().check(z.minLength(1), z.maxLength(4_096))

/** Somebody took a copy of everything: who, where to, how large. */
export const noteBackup = mutation(
  'backup',
  z.strictObject({
    file: pathField,
    size_bytes: z.int().check(z.minimum(0)),
    taken_at: timeField,
  }),
  async (_, { file, taken_at }) => ({ file, taken_at: renderInstant(taken_at) }),
  ({ file, size_bytes, taken_at }) => ({
    target: file,
    changed: { size_bytes, taken_at: renderInstant(taken_at) },
  }),
)

/** Somebody put a backup in the place of what was there. */
export const noteRestore = mutation(
  'backup.restore',
  z.strictObject({ file: pathField, replaced: z.nullable(pathField) }),
  async (_, noted) => noted,
  ({ file, replaced }) => ({ target: file, changed: { replaced } }),
)

/** When the newest backup was noted; null when none ever was. */
export async function lastBackupAt({
  store,
}: Pick<OperatorDeps, 'store'>): Promise<Instant | null> {
  const [last] = await store.acts.list({ verb: 'backup', limit: 1 })
  return last?.at ?? null
}
