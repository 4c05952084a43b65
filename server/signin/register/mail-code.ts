/** Mail codes: digits that verify an address (hardening §3.1). One per interaction; a new one replaces the old. */
import type { Instant } from '#domain/clock.ts'
import type { WaitingMail } from './code-mail.ts'

export interface MailCode {
  /** SHA-256 of the interaction's id in hexadecimal. */
  readonly interaction: string
  readonly email: string
  /** HMAC-SHA256 in hexadecimal; a plain hash of so few digits could be reversed by brute force. */
  readonly digest: string
  /** Who asks: a network (an IPv4 address, or the /64 of an IPv6 one), or a browser in which the address was verified before. */
  readonly peer: string
  /** What the peers of the same IPv6 /48 begin with; null if the peer has none. */
  readonly site: string | null
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** How many codes may be issued within a window. */
export interface Bound {
  readonly most: number
  readonly withinMs: number
}

export interface MailCodeBounds {
  /** To one address from one peer, or from all peers of its site. */
  readonly perPair: Bound
  /** Null for a browser that is known. */
  readonly network: NetworkBounds | null
  /** The window of `lately`. */
  readonly lookbackMs: number
}

export interface NetworkBounds {
  /** To one address from anywhere. Beyond it a peer has only its reserve: nobody is refused because of what others do. */
  readonly perEmail: Bound
  /** Takes the place of `perPair`. */
  readonly reserve: Bound
  /** From one network, to any address. */
  readonly perPeer: Bound
  readonly perSite: Bound
}

export type IssueVerdict =
  /** Includes how many codes were issued in total within `lookbackMs`, this one included. */
  | { readonly isIssued: true; readonly lately: number }
  /** When the next code may be requested. */
  | { readonly isIssued: false; readonly nextAt: Instant }

export type Redemption =
  | { readonly verdict: 'right'; readonly email: string }
  | { readonly verdict: 'wrong'; readonly attemptsLeft: number }
  /** No attempt is left. */
  | { readonly verdict: 'spent' }
  /** It has expired, or was used. */
  | { readonly verdict: 'expired' }

export interface PendingCode {
  readonly email: string
  readonly attemptsLeft: number
  readonly expiresAt: Instant
  readonly isUsed: boolean
}

/** The mail of a new code. */
export type NewMail = Pick<WaitingMail, 'id' | 'mail'>

export interface MailCodes {
  /**
   * Stores and counts the code, or refuses and keeps the interaction's earlier code. The mail, if any, is stored in the same
   * transaction and replaces an earlier one, so that a kill cannot separate them.
   */
  issue(code: MailCode, bounds: MailCodeBounds, mail: NewMail | null): Promise<IssueVerdict>
  /** How many codes were issued to an address since then. */
  issuedTo(email: string, since: Instant): Promise<number>
  /** The interaction's code, even if expired, used or without attempts left. */
  pending(interaction: string): Promise<PendingCode | undefined>
  /** Counts an attempt before comparing, so that concurrent attempts all count. The correct code is consumed. */
  redeem(interaction: string, digest: string, at: Instant): Promise<Redemption>
  /** Removes the interaction's code, and its mail if that is not sent yet. */
  drop(interaction: string): Promise<void>
  /** Removes codes and mails that expired, and counts that were made, before `before`: at most `limit`; returns how many. */
  sweep(before: Instant, limit: number): Promise<number>
}

export const MAX_ATTEMPTS = 5
