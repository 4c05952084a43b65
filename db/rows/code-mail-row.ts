/** The mail of a sign-in code or of an invitation as it is kept: encrypted by the vault. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'
import type { CodeMail, WaitingMail } from '#signin/register/code-mail.ts'
import type { Vault } from '../vault.ts'

export interface MailRow {
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
export function toWaiting(vault: Vault, row: MailRow): WaitingMail | null {
  const { interaction, event_id: id, tries, expires_at: expiresAt } = row
  try {
    const mail = JSON.parse(vault.open(row.sealed, place(id))) as CodeMail
    return { interaction, id, mail, tries, expiresAt }
  } catch {
    return null
  }
}
