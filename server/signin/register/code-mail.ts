/** Mails with sign-in codes, and invitations, stored encrypted until a mail server has accepted them or they have expired. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'

/** A mail to one person. */
export interface CodeMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A mail to be addressed. */
export type Letter = Omit<CodeMail, 'to'>

/** Each line is a paragraph. */
export const toLetter = (subject: string, lines: readonly string[]): Letter => ({
  subject,
  text: `${lines.join('\n\n')}\n`,
  html: lines.map((line) => `<p>${Bun.escapeHTML(line)}</p>`).join('\n'),
})

/** A stored mail. */
export interface WaitingMail {
  /** SHA-256 of the interaction's id in hexadecimal, or a name of its own for a mail without a code; a later one replaces it. */
  readonly interaction: string
  /** The same in every attempt, so that duplicates can be recognised. */
  readonly id: EventId
  readonly mail: CodeMail
  /** The number of failed attempts. */
  readonly tries: number
  /** When its code expires, or when an invitation is given up. */
  readonly expiresAt: Instant
}

export interface ClaimedMails {
  readonly mails: readonly WaitingMail[]
  /** When the next mail that is left is due, or a lease ends; null if there is none. */
  readonly nextAt: Instant | null
}

/** Mails are added by `MailCodes.issue`, together with their codes, and encrypted at rest; an invitation has no code. */
export interface CodeMails {
  /** Adds a mail without a code. */
  add(mail: Omit<WaitingMail, 'tries'>, at: Instant): Promise<void>
  /**
   * Leases mails that are due and not expired, at most `limit`, oldest due first, until `leaseUntil`; if the mailer dies, they become
   * due again. Removes those encrypted with another master key.
   */
  claim(at: Instant, leaseUntil: Instant, limit: number): Promise<ClaimedMails>
  /** Notes how many attempts have failed, and ends the lease; does nothing if the mail was replaced. */
  reschedule(waiting: WaitingMail, tries: number, nextTryAt: Instant): Promise<void>
  /** Removes a mail that was sent or given up, but not one that has replaced it. */
  drop(waiting: WaitingMail): Promise<void>
}
