/** Mails with sign-in codes: kept, sealed, until a mail server has them or the code is worth nothing any more. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'

/** A mail to one person. */
export interface CodeMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A mail on its way. */
export interface WaitingMail {
  /** SHA-256 of the interaction's id in hexadecimal; a later mail to the same interaction takes this one's place. */
  readonly interaction: string
  /** The same at every try: what arrives twice can be known by it. */
  readonly id: EventId
  readonly mail: CodeMail
  /** How many have failed. */
  readonly tries: number
  /** When its code is over. */
  readonly expiresAt: Instant
}

export interface DueMails {
  readonly due: readonly WaitingMail[]
  /** When the next one is; null while none waits. */
  readonly nextAt: Instant | null
}

/** Mails come in by `MailCodes.issue`, with their codes. Nothing that they say can be read at rest. */
export interface CodeMails {
  /** What is to be tried now and not over yet, at most `limit`, the longest due first. One sealed by another master key is forgotten. */
  due(at: Instant, limit: number): Promise<DueMails>
  /** Notes a failed try; nothing when another mail has taken its place. */
  reschedule(waiting: WaitingMail, nextTryAt: Instant): Promise<void>
  /** Forgets one that has left or was given up; not the one that took its place. */
  drop(waiting: WaitingMail): Promise<void>
}
