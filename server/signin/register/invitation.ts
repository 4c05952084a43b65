/** Invitations: whom an owner has asked to join an account. Nobody belongs to it before they accept. */
import type { Act } from '#domain/act.ts'
import { DAY_MS, type Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { randomName } from './digest.ts'
import { emailKey } from './email.ts'
import type { NewMail } from './mail-code.ts'
import type { Role } from './membership.ts'
import type { PersonId } from './person.ts'

export type InvitationId = `inv_${string}`

export interface Invitation {
  readonly id: InvitationId
  readonly accountId: AccountId
  readonly email: string
  readonly role: Role
  /** The address of the owner who sent it; null for the operator. */
  readonly by: string | null
  readonly sentAt: Instant
  readonly expiresAt: Instant
}

const ID_CHARS = 12

export const newInvitationId = (): InvitationId => `inv_${randomName(ID_CHARS)}`

export const INVITATION_MS = 14 * DAY_MS

/** A mail server is tried for so long. */
export const INVITATION_MAIL_MS = DAY_MS

/** The name of its mail among those that wait; a later one replaces it. */
export const invitationMailName = (accountId: AccountId, email: string): string =>
  `invitation ${accountId} ${emailKey(email)}`

/** Of one account within a day: they are mails to people who did not ask for them. */
export const MAX_INVITATIONS = { address: 3, account: 50 } as const

/** Which of them refuses another, and until when. */
export interface InvitationRefusal {
  readonly of: keyof typeof MAX_INVITATIONS
  readonly nextAt: Instant
}

export interface Invitations {
  /**
   * Replaces the account's earlier one to the same address. The mail, if any, is stored in the same transaction. Null if it is sent;
   * withdrawing one does not make room for another.
   */
  send(invitation: Invitation, mail: NewMail | null, act: Act): Promise<InvitationRefusal | null>
  /**
   * Makes a member of the person whose confirmed address it was sent to; somebody who is one keeps their role. False if it cannot be
   * accepted, or is not theirs.
   */
  accept(id: InvitationId, personId: PersonId, act: Act): Promise<boolean>
  /** Withdrawn, or declined: its mail is not sent any more either. False if it has ended. */
  end(id: InvitationId, act: Act): Promise<boolean>
  /** Those that can be accepted, oldest first: of an open account, from the operator or somebody who still owns it. */
  ofAccount(accountId: AccountId, at: Instant): Promise<readonly Invitation[]>
  /** Those that can be accepted, oldest first. */
  toAddress(email: string, at: Instant): Promise<readonly Invitation[]>
  /** Forgets those that are over and no longer count to a day; at most `limit`. Returns how many. */
  sweep(at: Instant, limit: number): Promise<number>
}
