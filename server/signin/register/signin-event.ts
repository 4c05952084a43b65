/** Events of signing in: who entered which application from where, who was refused, and what people changed of their own access. */
import type { Instant } from '#domain/clock.ts'
import { type EventId, newEventId } from '#domain/id.ts'
import type { PersonId } from './person.ts'

/** Outcomes that refuse nobody. Every other outcome is a refusal: one of `Refusal`, or an error code of the protocol. */
export const ACCEPTED = [
  /** An application was given a code for a person. */
  'signed_in',
  'signed_out',
  /** A code was mailed to an address. */
  'code_sent',
  /** An unknown address was verified, and became a person. */
  'signed_up',
  'identity_linked',
  'passkey_added',
  /** A device was given a code, for somebody to type elsewhere. */
  'device_started',
  /** An application gave up a token, and with it all that were issued with it. */
  'token_revoked',
] as const

export type Accepted = (typeof ACCEPTED)[number]

/** Refusals by the pages; those by the protocol have its error codes (`access_denied`, `invalid_client`, `invalid_grant`, …). */
export const REFUSED = [
  'wrong_code',
  'code_expired',
  /** No attempt at the code was left. */
  'code_spent',
  'too_many_codes',
  'too_many_requests',
  /** A code of a device that nobody shows, or that was used or has expired. */
  'wrong_device_code',
  /** The address is not known, and may not sign up: it was mailed that. */
  'unknown_address',
  'disabled',
  /** The person may not enter the application. */
  'not_allowed',
  /** Signed out everywhere after the sign-in had begun. */
  'revoked',
  'identity_refused',
  'identity_failed',
  /** A passkey that is not known, is somebody else's, or whose signature is not right. */
  'passkey_refused',
  /** Its counter has not grown: another device has the same key. */
  'passkey_cloned',
] as const

export type Refusal = (typeof REFUSED)[number]

export interface SigninEvent {
  readonly id: EventId
  readonly at: Instant
  readonly outcome: string
  /** How the person was recognised: `code`, `passkey`, `session`, or the name of an identity provider. Null where nobody was. */
  readonly method: string | null
  /** What the protocol library says of a refusal; never a credential. */
  readonly detail: string | null
  readonly personId: PersonId | null
  /** Only where there is no person: an address that was typed. */
  readonly email: string | null
  readonly clientId: string | null
  /** The network address of the browser or the application. */
  readonly address: string
}

/** What happened; the rest is nothing. */
export type SigninFacts = Pick<SigninEvent, 'outcome' | 'address'> & Partial<SigninEvent>

export const newSigninEvent = (at: Instant, facts: SigninFacts): SigninEvent => ({
  id: newEventId(at),
  at,
  method: null,
  detail: null,
  personId: null,
  email: null,
  clientId: null,
  ...facts,
})

export const isRefusal = (outcome: string): boolean =>
  !(ACCEPTED as readonly string[]).includes(outcome)

export interface SigninEventQuery {
  /** Of this person, or of an address that was typed. */
  readonly person?: { readonly id: PersonId | null; readonly email: string }
  readonly clientId?: string
  readonly outcome?: string
  /** Only refusals. */
  readonly refusalsOnly?: boolean
  readonly since?: Instant
  /** Before then. */
  readonly until?: Instant
  /** Only events older than this one: the last of the page before. */
  readonly before?: EventId
  readonly limit: number
}

/** An event as it is listed. */
export interface ListedSigninEvent extends SigninEvent {
  /** The person's address while there is one, else the one that was typed. */
  readonly email: string | null
}

/** Port: the log of signing in. Events are written with what a request changes (`Artifacts.write`). */
export interface SigninEvents {
  /** Newest first. */
  list(query: SigninEventQuery): Promise<readonly ListedSigninEvent[]>
  /** Removes events from before `before`, the oldest first and at most `limit`; answers how many, none while the disk takes no writes. */
  trim(before: Instant, limit: number): Promise<number>
}
