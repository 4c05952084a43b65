/** Mails with sign-in codes, stored encrypted until a mail server has accepted them or the code has expired. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'

/** A mail to one person. */
export interface CodeMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A stored mail. */
export interface WaitingMail {
  /** SHA-256 of the interaction's id in hexadecimal; a later mail of the interaction replaces this one. */
  readonly interaction: string
  /** The same in every attempt, so that duplicates can be recognised. */
  readonly id: EventId
  readonly mail: CodeMail
  /** The number of failed attempts. */
  readonly tries: number
  /** When its code expires. */
  readonly expiresAt: Instant
}

export interface ClaimedMails {
  readonly mails: readonly WaitingMail[]
  /** When the next mail that is left is due, or a lease ends; null if there is none. */
  readonly nextAt: Instant | null
}

/** Mails are added by `MailCodes.issue`, together with their codes, and encrypted at rest. */
export interface CodeMails {
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
