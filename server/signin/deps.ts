/** What the sign-in provider is given: its store, its address, and how it reaches people. */
import type { Clock } from '#domain/clock.ts'
import type { SigninStore } from './store.ts'

/** How codes reach people. */
export type CodeDelivery =
  /** Mails wait in the store; told of one, it sends it by and by, so that no answer tells by its time whom the gateway knows. */
  | { readonly kind: 'mail'; wake(): void }
  /** The demo: whoever reads the server's log signs in as anybody. */
  | { readonly kind: 'log'; log(email: string, code: string): void }
  /** There is no mail server, and nobody signs in by e-mail. */
  | { readonly kind: 'none' }

/** A question to a third party. */
export interface OutboundRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Asks on behalf of an issuer; whatever its status, the answer comes whole and bounded, and no redirect is followed.
 * @throws when it may not be reached, is not, or not in time
 */
export type Reach = (address: string, request: OutboundRequest, issuer: string) => Promise<Response>

export interface SigninDeps {
  readonly store: SigninStore
  readonly clock: Clock
  /** `{auth_url}`: exactly what tokens say in `iss`; without a path, and without a slash at the end. */
  readonly issuer: string
  readonly codeDelivery: CodeDelivery
  /** The way out to third parties. */
  readonly reach: Reach
  /** Whether an address that nobody has becomes a person once it is proved. */
  readonly allowsSignup: boolean
  /** What broke, for the operator's log; the id is on the page that the person saw. */
  logFault(cause: unknown, errorId?: string): void
}
