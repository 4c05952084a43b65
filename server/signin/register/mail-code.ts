/** Mail codes: eight digits that prove an address (hardening §3.1). One lives per interaction; a new one ends the old. */
import type { Instant } from '#domain/clock.ts'
import type { CodeMail } from './code-mail.ts'

export interface MailCode {
  /** SHA-256 of the interaction's id in hexadecimal. */
  readonly interaction: string
  readonly email: string
  /** HMAC-SHA256 in hexadecimal: eight digits alone would be found by trying them all. */
  readonly digest: string
  /** The network that asked for it: an IPv4 address, or the /64 of an IPv6 one. */
  readonly peer: string
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** How many codes may be issued within a time. */
export interface Bound {
  readonly most: number
  readonly withinMs: number
}

export interface MailCodeBounds {
  readonly perEmail: Bound
  readonly perPeer: Bound
}

export type IssueVerdict =
  /** With how many codes were issued to anybody within the longer of the two times, this one included. */
  | { readonly isIssued: true; readonly lately: number }
  /** When the next code may be asked for. */
  | { readonly isIssued: false; readonly nextAt: Instant }

export type Redemption =
  | { readonly verdict: 'right'; readonly email: string }
  | { readonly verdict: 'wrong'; readonly attemptsLeft: number }
  /** No try is left. */
  | { readonly verdict: 'spent' }
  /** Its time is over, or it was used. */
  | { readonly verdict: 'expired' }

export interface PendingCode {
  readonly email: string
  readonly attemptsLeft: number
  readonly expiresAt: Instant
}

export interface MailCodes {
  /**
   * Keeps the code and counts it, or refuses and leaves the interaction's earlier code as it is. The mail that brings it, if
   * there is one, waits from the same moment on, in place of an earlier one: no kill parts them.
   */
  issue(code: MailCode, bounds: MailCodeBounds, mail: CodeMail | null): Promise<IssueVerdict>
  /** The interaction's code, also when it has expired or no try is left; undefined when there is none or it was used. */
  pending(interaction: string): Promise<PendingCode | undefined>
  /** Takes a try before it compares, so that tries made at once are counted each. The right code is used up. */
  redeem(interaction: string, digest: string, at: Instant): Promise<Redemption>
  /** Forgets the interaction's code, and its mail if that has not left. */
  drop(interaction: string): Promise<void>
  /** Forgets codes and mails that expired, and counts older than any bound looks back. */
  sweep(before: Instant): Promise<void>
}

export const MAX_ATTEMPTS = 5
