/** Mails of sign-in codes and invitations, encrypted by the vault; of several nodes one claims each. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'
import type { CodeMail, CodeMails, WaitingMail } from '#signin/register/code-mail.ts'
import { requireVault } from '../require-vault.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import type { Vault } from '../vault.ts'

interface MailRow {
  readonly interaction: string
  readonly event_id: EventId
  readonly sealed: string
  readonly tries: number
  readonly next_try_at: Instant
  readonly expires_at: Instant
}

/** To be added. */
export interface SealedMail {
  readonly interaction: string
  readonly id: EventId
  readonly sealed: string
  readonly at: Instant
  readonly expiresAt: Instant
}

const place = (id: EventId): string => `code_mails|${id}|v1`

export const sealMail = (vault: Vault, id: EventId, mail: CodeMail): string =>
  vault.seal(JSON.stringify(mail), place(id))

/** Null if it was encrypted with another master key; its code could not be redeemed either. */
function toWaiting(vault: Vault, row: MailRow): WaitingMail | null {
  const { interaction, event_id: id, tries, expires_at: expiresAt } = row
  try {
    const mail = JSON.parse(vault.open(row.sealed, place(id))) as CodeMail
    return { interaction, id, mail, tries, expiresAt }
  } catch {
    return null
  }
}

export const addMail = (mail: SealedMail): Statements<number> =>
  run(
    `INSERT INTO code_mails (interaction, event_id, sealed, next_try_at, expires_at)
     VALUES ($interaction, $id, $sealed, $at, $expiresAt)
     ON CONFLICT (interaction) DO UPDATE SET event_id = $id, sealed = $sealed, tries = 0, next_try_at = $at, expires_at = $expiresAt`,
    { ...mail },
  )

export const dropMail = (interaction: string): Statements<number> =>
  run('DELETE FROM code_mails WHERE interaction = $interaction', { interaction })

function* nextAt(at: Instant): Statements<Instant | null> {
  const next = yield* get<Pick<MailRow, 'next_try_at'>>(
    'SELECT next_try_at FROM code_mails WHERE expires_at > $at ORDER BY next_try_at LIMIT 1',
    { at },
  )
  return next?.next_try_at ?? null
}

/** Those that are due, leased; what no key opens any more is dropped. */
function* lease(vault: Vault, at: Instant, leaseUntil: Instant, limit: number) {
  const mails: WaitingMail[] = []
  const due = yield* all<MailRow>(
    `SELECT * FROM code_mails WHERE next_try_at <= $at AND expires_at > $at
     ORDER BY next_try_at LIMIT $limit`,
    { at, limit },
  )
  for (const row of due) {
    const mail = toWaiting(vault, row)
    const { interaction } = row
    if (mail === null) yield* dropMail(interaction)
    else {
      yield* run(
        'UPDATE code_mails SET next_try_at = $leaseUntil WHERE interaction = $interaction',
        {
          interaction,
          leaseUntil,
        },
      )
      mails.push(mail)
    }
  }
  return mails
}

export const createCodeMails = (engine: Engine): CodeMails => ({
  async add({ interaction, id, mail, expiresAt }, at) {
    const sealed = sealMail(requireVault(engine), id, mail)
    await engine.change(() => addMail({ interaction, id, sealed, at, expiresAt }))
  },
  async claim(at, leaseUntil, limit) {
    const next = await engine.read(() => nextAt(at))
    if (next === null || next > at) return { mails: [], nextAt: next }
    // While the disk takes no writes nothing could be noted of an attempt, so none is made.
    const mails = await engine.attempt(() => lease(requireVault(engine), at, leaseUntil, limit))
    return { mails: mails ?? [], nextAt: await engine.read(() => nextAt(at)) }
  },
  async reschedule({ interaction, id }, tries, nextTryAt) {
    await engine.run(
      `UPDATE code_mails SET tries = $tries, next_try_at = $nextTryAt
       WHERE interaction = $interaction AND event_id = $id`,
      { interaction, id, tries, nextTryAt },
    )
  },
  async drop({ interaction, id }) {
    await engine.run('DELETE FROM code_mails WHERE interaction = $interaction AND event_id = $id', {
      interaction,
      id,
    })
  },
})
