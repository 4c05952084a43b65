/** What an interaction's pages and steps know: the sign-in's parts, the request, and the interaction that it belongs to; and its notes. */
import type { Interaction, Provider } from 'oidc-provider/lib/provider.js'
import type { Language } from '#domain/language.ts'
import type { Bridge } from './bridge.ts'
import type { SigninDeps } from './deps.ts'
import type { Federation } from './identities/federation.ts'
import type { InteractionLimit } from './interaction-limit.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import type { MailCodeFlow } from './mail-code.ts'
import type { PasskeyFlow } from './passkeys.ts'
import type { Client } from './register/client.ts'
import type { Accepted, Refusal, SigninFacts } from './register/signin-event.ts'
import { noteEvent } from './request-artifacts.ts'
import type { Step } from './routes.ts'

export interface Call {
  readonly request: Request
  readonly uid: string
  /** Null shows the page. */
  readonly step: Step | null
  /** The identity provider in the path: POST is its button, GET its callback. */
  readonly identity: string | null
  readonly body: Uint8Array | null
  /** The client's network address. */
  readonly address: string
}

export interface SigninContext {
  readonly deps: SigninDeps
  readonly provider: Provider
  readonly codeFlow: MailCodeFlow
  readonly knownBrowsers: KnownBrowsers
  readonly identities: Federation
  /** Null where there are none. */
  readonly passkeys: PasskeyFlow | null
  readonly interactionLimit: InteractionLimit
  /** The same for logins at third parties, because each sends requests to them on behalf of an unauthenticated client. */
  readonly detourLimit: InteractionLimit
}

/** The context of one request. */
export interface InteractionContext extends SigninContext {
  readonly call: Call
  readonly bridge: Bridge
  readonly interaction: Interaction
  readonly client: Client
  readonly language: Language
}

/** Notes in the log of signing in what an interaction has come to. */
export const noteOutcome = (
  { deps, call, client }: InteractionContext,
  outcome: Accepted | Refusal,
  facts: Partial<SigninFacts> = {},
): void => noteEvent(deps.clock, { address: call.address, clientId: client.id, ...facts, outcome })
