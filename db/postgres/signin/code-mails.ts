/** Mails of sign-in codes and invitations in PostgreSQL, encrypted by the vault; of several nodes one claims each. */
import type { CodeMails } from '#signin/register/code-mail.ts'
import { requireVault } from '../../require-vault.ts'
import { type MailRow, type SealedMail, sealMail, toWaiting } from '../../rows/code-mail-row.ts'
import type { Database, Sql } from '../engine/database.ts'

export async function addMail(sql: Sql, mail: SealedMail): Promise<void> {
  await sql.run(
    `INSERT INTO code_mails (interaction, event_id, sealed, next_try_at, expires_at)
     VALUES ($interaction, $id, $sealed, $at, $expiresAt)
     ON CONFLICT (interaction) DO UPDATE SET event_id = $id, sealed = $sealed, tries = 0, next_try_at = $at, expires_at = $expiresAt`,
    { ...mail },
  )
}

export const dropMail = (sql: Sql, interaction: string): Promise<number> =>
  sql.run('DELETE FROM code_mails WHERE interaction = ?', interaction)

export const createCodeMails = (database: Database): CodeMails => ({
  async add({ interaction, id, mail, expiresAt }, at) {
    const sealed = sealMail(requireVault(database), id, mail)
    await addMail(database, { interaction, id, sealed, at, expiresAt })
  },
  claim: (at, leaseUntil, limit) =>
    database.change(async (tx) => {
      const rows = await tx.all<MailRow>(
        `SELECT * FROM code_mails WHERE next_try_at <= $at AND expires_at > $at
         ORDER BY next_try_at LIMIT $limit FOR UPDATE SKIP LOCKED`,
        { at, limit },
      )
      const vault = requireVault(database)
      const mails = rows.flatMap((row) => toWaiting(vault, row) ?? [])
      const readable = new Set(mails.map(({ id }) => id))
      for (const { interaction, event_id: id } of rows) {
        if (!readable.has(id)) {
          await dropMail(tx, interaction)
        } else {
          await tx.run(
            'UPDATE code_mails SET next_try_at = ? WHERE interaction = ?',
            leaseUntil,
            interaction,
          )
        }
      }
      const next = await tx.get<Pick<MailRow, 'next_try_at'>>(
        'SELECT next_try_at FROM code_mails WHERE expires_at > ? ORDER BY next_try_at LIMIT 1',
        at,
      )
      return { mails, nextAt: next?.next_try_at ?? null }
    }),
  async reschedule({ interaction, id }, tries, nextTryAt) {
    await database.run(
      'UPDATE code_mails SET tries = ?, next_try_at = ? WHERE interaction = ? AND event_id = ?',
      ...[tries, nextTryAt, interaction, id],
    )
  },
  async drop({ interaction, id }) {
    await database.run(
      'DELETE FROM code_mails WHERE interaction = ? AND event_id = ?',
      interaction,
      id,
    )
  },
})
