/** What the cabinet needs, and what it is to its listener. */
import type { Clock } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import type { Brand } from '#pages/brand.ts'
import type { PasskeyDesk } from '#signin/register/passkey.ts'
import type { SigninEvent } from '#signin/register/signin-event.ts'

/** What an operator states. */
export interface CabinetSettings {
  /** Whom a person without an account may ask: a name and an address; null is "the operator". */
  readonly contact: string | null
}

/** Logins at third parties, begun by somebody who is signed in. `uid` is the first part of the state that comes back. */
export interface ThirdParties {
  /** Where the browser is sent; null where the third party cannot be reached, or is gone. */
  send(name: string, uid: string): Promise<string | null>
  /** Who the person is there; null where it refused, or the answer is not of this login. Consumes the state. */
  receive(
    name: string,
    uid: string,
    answer: URLSearchParams,
  ): Promise<{ readonly subject: string; readonly name: string | null } | null>
}

/** Where it is served, beside the sign-in provider whose application it is. */
export interface CabinetPlace {
  /** `{auth_url}` */
  readonly issuer: string
  /** Its secret as an application, known to this process alone. */
  readonly secret: string
  /** Asks the sign-in provider without a connection: no name is resolved, no certificate needed. */
  ask(request: Request, address: string): Promise<Response>
  readonly thirdParties: ThirdParties
  /** Counts an event of signing in. */
  observed(event: SigninEvent): void
  /** Null where there are no passkeys. */
  readonly passkeys: PasskeyDesk | null
}

export interface CabinetDeps extends CabinetPlace, CabinetSettings {
  /** The operator's name, logo and colour. */
  readonly brand: Brand
  readonly clock: Clock
  /** By a key that every node has; `place` is where it is kept, and it opens nowhere else. */
  readonly seals: {
    seal(text: string, place: string): string
    open(sealed: string, place: string): string | null
  }
  /** What the verbs need; resolves once the gateway listens. */
  readonly operator: Promise<Omit<OperatorDeps, 'who'>>
  /** Sends a request of chat as a key, without its secret; the answer is that of the API. */
  askAsKey(key: ApiKey, body: object, signal: AbortSignal): Promise<Response>
  /** Logs an error for the operator, with the id that the person's page shows. */
  logFault(cause: unknown, errorId?: string): void
}

export interface Cabinet {
  /** Null for a path that is not its own. `address`: the client's network address. */
  answer(request: Request, address: string): Promise<Response | null>
}
