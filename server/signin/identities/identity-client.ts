/** The client of a third-party identity provider: where people are sent, and who came back. */

import type { ClaimedEmail } from '../register/identity.ts'
import type { IdentityProvider } from '../register/identity-provider.ts'

/** One login at a third party: the parameters of its authorization request. */
export interface FederatedLogin {
  readonly provider: IdentityProvider
  /** Exactly as it is registered at the third party. */
  readonly redirectUri: string
  /** The application wants the person asked anew, however lately they were. */
  readonly isFresh: boolean
  readonly state: string
  readonly nonce: string
  /** Of PKCE. */
  readonly verifier: string
}

/** What the third party claims about whoever came back. */
export interface IdentityClaims {
  /** At most 255 characters. */
  readonly subject: string
  readonly name: string | null
  readonly email: ClaimedEmail | null
}

export interface IdentityClient {
  /** Where the browser is sent. @throws Unreachable, or what is wrong with the third party's metadata */
  authorizationUrl(login: FederatedLogin): Promise<string>
  /** @throws Declined, Unreachable, or what is wrong with the answer */
  redeem(login: FederatedLogin, answer: URLSearchParams, secret: string): Promise<IdentityClaims>
}

/** The third party, or the person there, said no. */
export class Declined extends Error {}

/** Nobody answered in time, or the address is one that may not be reached. */
export class Unreachable extends Error {}

const MAX_SUBJECT = 255
const MAX_NAME = 200

/** As the specification bounds it (OpenID Connect Core §2). @throws when it is none */
export function requireSubject(subject: string): string {
  if (subject.length >= 1 && subject.length <= MAX_SUBJECT && subject.isWellFormed()) {
    return subject
  }
  throw new Error('the subject has no acceptable length')
}

/** A text for operators to read; null for what is none. */
export function readName(...candidates: readonly unknown[]): string | null {
  const found = candidates.find((one) => typeof one === 'string' && one.trim() !== '')
  if (typeof found !== 'string') return null
  return found
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, MAX_NAME)
    .toWellFormed()
}
