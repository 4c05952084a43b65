/** The client of a third-party identity provider: builds authorization requests and validates the responses. */
import type { ClaimedEmail } from '../register/identity.ts'
import type { IdentityProvider } from '../register/identity-provider.ts'

/** One login at a third party: the parameters of its authorization request. */
export interface FederatedLogin {
  readonly provider: IdentityProvider
  /** Exactly as it is registered at the third party. */
  readonly redirectUri: string
  /** The application requires a fresh authentication. */
  readonly isFresh: boolean
  readonly state: string
  readonly nonce: string
  /** The PKCE code verifier. */
  readonly verifier: string
}

/** The third party's claims about the person. */
export interface IdentityClaims {
  /** At most 255 characters. */
  readonly subject: string
  readonly name: string | null
  readonly email: ClaimedEmail | null
}

export interface IdentityClient {
  /** The URL of the authorization request. @throws Unreachable, or an error for invalid metadata */
  authorizationUrl(login: FederatedLogin): Promise<string>
  /** @throws Declined, Unreachable, or an error for an invalid response */
  redeem(login: FederatedLogin, answer: URLSearchParams, secret: string): Promise<IdentityClaims>
}

/** The third party, or the person there, denied the request. */
export class Declined extends Error {}

/** No response in time, or the address is forbidden. */
export class Unreachable extends Error {}

const MAX_SUBJECT = 255
const MAX_NAME = 200

/** A subject of at most 255 characters (OpenID Connect Core §2). @throws if it is not valid */
export function requireSubject(subject: string): string {
  if (subject.length >= 1 && subject.length <= MAX_SUBJECT && subject.isWellFormed()) {
    return subject
  }
  throw new Error('the subject has no acceptable length')
}

/** A text to show to operators; null if the value is not a text. */
export function readName(...candidates: readonly unknown[]): string | null {
  const found = candidates.find((one) => typeof one === 'string' && one.trim() !== '')
  if (typeof found !== 'string') return null
  return found
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, MAX_NAME)
    .toWellFormed()
}
