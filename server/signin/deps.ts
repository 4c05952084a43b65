/** The dependencies of the sign-in provider: its store, its address, and how it sends codes. */
import type { Clock } from '#domain/clock.ts'
import type { Brand } from '#pages/brand.ts'
import type { SigninLimits } from './limits.ts'
import type { Signup } from './register/access.ts'
import type { Client } from './register/client.ts'
import type { PasskeyPolicy } from './register/passkey.ts'
import type { SigninEvent } from './register/signin-event.ts'
import type { SigninStore } from './store.ts'

/** How codes are delivered. */
export type CodeDelivery =
  /** Signals that a mail is in the store. It is sent asynchronously, so response times do not reveal which addresses are known. */
  | { readonly kind: 'mail'; wake(): void }
  /** The demo: codes are written to the server's log, so anybody who can read it can sign in as anybody. */
  | { readonly kind: 'log'; log(email: string, code: string): void }
  /** No mail server: signing in by e-mail is disabled. */
  | { readonly kind: 'none' }

/** A request to a third party. */
export interface OutboundRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Sends a request on behalf of an issuer. Returns the complete response, of limited size, whatever its status; follows no redirects.
 * @throws if the address is forbidden, cannot be reached, or does not respond in time
 */
export type Reach = (address: string, request: OutboundRequest, issuer: string) => Promise<Response>

export interface SigninDeps {
  readonly store: SigninStore
  readonly clock: Clock
  /** For what is deleted for its age; absent, `clock`. */
  readonly steadyClock?: Clock
  /** `{auth_url}`: exactly the `iss` of tokens, without a path and without a trailing slash. */
  readonly issuer: string
  readonly codeDelivery: CodeDelivery
  /** An application of this process, which is registered nowhere; null for none. */
  readonly application?: Client | null
  /** Sends requests to third parties. */
  readonly reach: Reach
  readonly signup: Signup
  /** Default: `optional`. */
  readonly passkeys?: PasskeyPolicy | undefined
  /** Whom people may ask for access: a name, an address; by default the operator. */
  readonly contact?: string | undefined
  /** The operator's name, logo and colour. */
  readonly brand?: Brand | undefined
  /** Default: `DEFAULT_LIMITS`. */
  readonly limits?: SigninLimits | undefined
  /** Counts an event of signing in. */
  observed?(event: SigninEvent): void
  /** Logs an error for the operator, with the id that the person's page shows. */
  logFault(cause: unknown, errorId?: string): void
}
