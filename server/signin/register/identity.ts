/** Identities of people at third parties. The key is issuer and subject, never an e-mail address (hardening §3.2). */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { Person, PersonId } from './person.ts'

export interface IdentityKey {
  readonly issuer: string
  /** The issuer's permanent identifier of the person. */
  readonly subject: string
}

/** An identity as claimed by its issuer. */
export interface ClaimedIdentity extends IdentityKey {
  /** A login name or address, shown to operators. Unverified. */
  readonly claimedName: string | null
}

export interface Identity extends ClaimedIdentity {
  readonly personId: PersonId
  readonly linkedAt: Instant
  readonly lastUsedAt: Instant
}

export interface Identities {
  /**
   * The person that the identity is linked to; else the person with the address `vouched` (one that this issuer is
   * authoritative for), if it was verified by a code before, and the identity is then linked. Undefined otherwise. A disabled
   * person is returned without changes. `revoked` if the person was revoked after there were `revocations`, as when the sign-in
   * began.
   */
  recognise(
    identity: ClaimedIdentity,
    vouched: string | null,
    at: Instant,
    revocations: number,
  ): Promise<Person | 'revoked' | undefined>
  /**
   * Links after the person was verified by other means; `act` is written with a new link. False if it is linked to another person,
   * its provider was removed, or the person was revoked after there were `revocations`.
   */
  link(
    identity: ClaimedIdentity,
    personId: PersonId,
    at: Instant,
    revocations: number,
    act?: Act,
  ): Promise<boolean>
  /** Oldest first. */
  ofPerson(personId: PersonId): Promise<readonly Identity[]>
  /** How many people are linked to an issuer. */
  countPeople(issuer: string): Promise<number>
  /** Returns how many were removed. */
  unlink(personId: PersonId, issuer: string, act: Act): Promise<number>
}

/** A third party's claims about an address. */
export interface ClaimedEmail {
  readonly email: string
  readonly isVerified: boolean
  /** Google's `hd` claim, the domain of the person's organisation; null if there is none, or for other providers. */
  readonly hostedDomain: string | null
}

const GOOGLE = 'https://accounts.google.com'
/** Consumer addresses at Google belong to no organisation. */
const GOOGLES_OWN = 'gmail.com'

/**
 * The address if the third party is authoritative for its domain and asserts it as verified; else null. Google verifies
 * external addresses only once, so `hd` must show that it still hosts the domain.
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
