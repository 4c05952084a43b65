/** Identities: whom third parties know a person as. The key is issuer and subject; an address is never one (hardening §3.2). */
import type { Instant } from '#domain/clock.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { Person, PersonId } from './person.ts'

export interface IdentityKey {
  readonly issuer: string
  /** How the issuer tells its people apart, for ever. */
  readonly subject: string
}

/** An identity as its issuer told of it. */
export interface ClaimedIdentity extends IdentityKey {
  /** What the person is called there, for operators to recognise: a login, an address. Proves nothing. */
  readonly claimedName: string | null
}

export interface Identity extends ClaimedIdentity {
  readonly personId: PersonId
  readonly linkedAt: Instant
  readonly lastUsedAt: Instant
}

export interface Identities {
  /**
   * Whose identity came: that of whom it is linked to, else of whoever has `vouched`, an address that this very issuer has
   * the last word on, provided that a code has proved it before; that links them. Undefined otherwise. A disabled person is
   * answered as they are, and nothing changes.
   */
  recognise(
    identity: ClaimedIdentity,
    vouched: string | null,
    at: Instant,
  ): Promise<Person | undefined>
  /** After a person has proved who they are by other means. False when it is somebody else's, or its provider is gone. */
  link(identity: ClaimedIdentity, personId: PersonId, at: Instant): Promise<boolean>
  /** Oldest first. */
  ofPerson(personId: PersonId): Promise<readonly Identity[]>
  /** How many people an issuer lets in. */
  countPeople(issuer: string): Promise<number>
  /** Answers how many there were. */
  unlink(personId: PersonId, issuer: string): Promise<number>
}

/** What a third party says of an address. */
export interface ClaimedEmail {
  readonly email: string
  readonly isVerified: boolean
  /** The domain that Google runs for the person's organisation; null: none, or not Google. */
  readonly hostedDomain: string | null
}

const GOOGLE = 'https://accounts.google.com'
/** Google's own addresses belong to no organisation. */
const GOOGLES_OWN = 'gmail.com'

/**
 * The address, where the operator gave the third party the last word on its domain and it stands by the address; else null.
 * Google verifies foreign addresses once; that it still runs the domain is what `hd` says.
 */
export function vouchedEmail(
  { issuer, authoritativeFor }: Pick<IdentityProvider, 'issuer' | 'authoritativeFor'>,
  claimed: ClaimedEmail | null,
): string | null {
  if (claimed === null || !claimed.isVerified) return null
  const domain = claimed.email.slice(claimed.email.lastIndexOf('@') + 1)
  if (!authoritativeFor.includes(domain)) return null
  const isRun = issuer !== GOOGLE || domain === GOOGLES_OWN || claimed.hostedDomain === domain
  return isRun ? claimed.email : null
}
