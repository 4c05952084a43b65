/** Mails of sign-in codes and invitations in SQLite, encrypted by the vault. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { CodeMails } from '#signin/register/code-mail.ts'
import { requireVault } from '../../require-vault.ts'
import { type MailRow, type SealedMail, sealMail, toWaiting } from '../../rows/code-mail-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'

export function createCodeMails(connection: Connection): CodeMails {
  const { database, commit } = connection
  const table = prepare(database)
  const addMail = prepareAddMail(database)

  return {
    add({ interaction, id, mail, expiresAt }, at) {
      const sealed = sealMail(requireVault(connection), id, mail)
      return commit.commitDurably(() => addMail({ interaction, id, sealed, at, expiresAt }))
    },
    async claim(at, leaseUntil, limit) {
      commit.flush()
      const rows = table.due().all({ at, limit })
      const vault = requireVault(connection)
      const mails = rows.flatMap((row) => toWaiting(vault, row) ?? [])
      const readable = new Set(mails.map(({ id }) => id))
      const lease = (): void => {
        for (const { interaction, event_id: id, tries } of rows) {
          if (!readable.has(id)) table.drop().run({ interaction, id })
          else table.reschedule().run({ interaction, id, tries, nextTryAt: leaseUntil })
        }
      }
      // While the disk takes no writes nothing could be noted of an attempt, so none is made.
      const isLeased = rows.length === 0 || commit.tryWrite(lease)
      return { mails: isLeased ? mails : [], nextAt: table.next().get({ at })?.next_try_at ?? null }
    },
    reschedule: ({ interaction, id }, tries, nextTryAt) =>
      commit.enqueue(() => void table.reschedule().run({ interaction, id, tries, nextTryAt })),
    drop: ({ interaction, id }) => commit.enqueue(() => void table.drop().run({ interaction, id })),
  }
}

/** Runs in the transaction of its caller. */
export function prepareAddMail(database: Database): (mail: SealedMail) => void {
  const add = statement<unknown, [Named]>(
    database,
    `REPLACE INTO code_mails (interaction, event_id, sealed, next_try_at, expires_at)
     VALUES ($interaction, $id, $sealed, $at, $expiresAt)`,
  )
  return (mail) => void add().run({ ...mail })
}

/** Runs in the transaction of its caller. */
export function prepareDropMail(database: Database): (interaction: string) => void {
  const drop = statement<unknown, [string]>(
    database,
    'DELETE FROM code_mails WHERE interaction = ?',
  )
  return (interaction) => void drop().run(interaction)
}

const prepare = (database: Database) => ({
  due: statement<MailRow, [{ at: Instant; limit: number }]>(
    database,
    `SELECT * FROM code_mails WHERE next_try_at <= $at AND expires_at > $at
     ORDER BY next_try_at LIMIT $limit`,
  ),
  next: statement<{ next_try_at: Instant }, [{ at: Instant }]>(
    database,
    'SELECT next_try_at FROM code_mails WHERE expires_at > $at ORDER BY next_try_at LIMIT 1',
  ),
  reschedule: statement<unknown, [Named]>(
    database,
    `UPDATE code_mails SET tries = $tries, next_try_at = $nextTryAt
     WHERE interaction = $interaction AND event_id = $id`,
  ),
  drop: statement<unknown, [Named]>(
    database,
    'DELETE FROM code_mails WHERE interaction = $interaction AND event_id = $id',
  ),
})
