/** A mail code as its row, its mail, and when the next may be issued by the rows that are counted. */
import { type Instant, later } from '#domain/clock.ts'
import type { Bound, MailCode, NewMail } from '#signin/register/mail-code.ts'
import type { Vault } from '../vault.ts'
import { type SealedMail, sealMail } from './code-mail-row.ts'

export interface CodeRow {
  readonly email: string
  readonly hmac: string
  readonly attempts: number
  readonly expires_at: Instant
  readonly used_at: Instant | null
}

export const sealCodeMail = (
  vault: Vault,
  { interaction, issuedAt: at, expiresAt }: MailCode,
  { id, mail }: NewMail,
): SealedMail => ({ interaction, id, sealed: sealMail(vault, id, mail), at, expiresAt })

export type Lookback = {
  readonly since: Instant
  readonly until: Instant
  readonly most: number
}

/** A range of peers. */
export type Peers = { readonly first: string; readonly last: string }

export const exactly = (peer: string): Peers => ({ first: peer, last: peer })

export const beginningWith = (site: string): Peers => ({ first: site, last: `${site}\uffff` })

/** When the oldest counted code leaves the window; null if there is room. */
export function nextAt(
  { most, withinMs }: Bound,
  at: Instant,
  newest: (lookback: Lookback) => readonly { readonly at: Instant }[],
): number | null {
  // Entries further in the future were recorded before the clock was set back.
  const counted = newest({ since: later(at, -withinMs), until: later(at, withinMs), most })
  const oldest = counted.at(-1)
  return oldest === undefined || counted.length < most ? null : oldest.at + withinMs
}
