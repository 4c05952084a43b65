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

export interface DueMails {
  readonly due: readonly WaitingMail[]
  /** When the next mail is due; null if there is none. */
  readonly nextAt: Instant | null
}

/** Mails are added by `MailCodes.issue`, together with their codes, and encrypted at rest. */
export interface CodeMails {
  /** Up to `limit` mails that are due and not expired, oldest due first. Removes those encrypted with another master key. */
  due(at: Instant, limit: number): Promise<DueMails>
  /** Records a failed attempt; does nothing if the mail was replaced. */
  reschedule(waiting: WaitingMail, nextTryAt: Instant): Promise<void>
  /** Removes a mail that was sent or given up, but not one that has replaced it. */
  drop(waiting: WaitingMail): Promise<void>
}
