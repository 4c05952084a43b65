/** Federation: redirects people to third-party identity providers, and validates their responses (hardening §3.2). */
import { createHmac } from 'node:crypto'
import { later, MINUTE_MS } from '#domain/clock.ts'
import type { SigninDeps } from '../deps.ts'
import { digestOf, randomSecret } from '../register/digest.ts'
import {
  callbackPath,
  type IdentityProvider,
  isLoopbackHttp,
} from '../register/identity-provider.ts'
import {
  Declined,
  type FederatedLogin,
  type IdentityClaims,
  type IdentityClient,
} from './identity-client.ts'

/** The lifetime of an interaction, because people may need time to find a password. */
const DETOUR_MS = 60 * MINUTE_MS

export type FederationProblem =
  /** The provider was removed. */
  | { readonly kind: 'gone' }
  /** The third party refused, or the response has no matching state. */
  | { readonly kind: 'refused'; readonly provider: IdentityProvider }
  /** It could not be reached, or its response is invalid. */
  | { readonly kind: 'failed'; readonly provider: IdentityProvider }

export type SendResult = { readonly kind: 'sent'; readonly address: string } | FederationProblem

export type ReturnResult =
  | {
      readonly kind: 'identified'
      readonly provider: IdentityProvider
      readonly claims: IdentityClaims
    }
  | FederationProblem

export interface Federation {
  /** Starts a login and returns the URL to redirect to; replaces an earlier one of the interaction. */
  send(name: string, uid: string, isFresh: boolean): Promise<SendResult>
  /** Validates the authorization response, once. */
  receive(name: string, uid: string, answer: URLSearchParams): Promise<ReturnResult>
}

/** A state contains the interaction's uid, which is not a secret: access needs the interaction's cookie. */
const newState = (uid: string): string => `${uid}.${randomSecret()}`

/** The interaction's uid in a state; undefined if the state is malformed. */
export const uidOfState = (state: string | null): string | undefined =>
  /^([\w-]{1,64})\.[\w-]{43}$/.exec(state ?? '')?.[1]

/** `key` is a secret of the keyring; nonce and verifier are derived from it and the state, so they need not be stored. */
export function openFederation(deps: SigninDeps, key: string): Federation {
  const { store, clock } = deps
  const clientOf = clientLoader(deps)
  const derive = (purpose: string, state: string): string =>
    createHmac('sha256', key).update(`${purpose}\n${state}`).digest('base64url')
  const loginOf = (
    provider: IdentityProvider,
    state: string,
    isFresh: boolean,
  ): FederatedLogin => ({
    provider,
    redirectUri: deps.issuer + callbackPath(provider.name),
    isFresh,
    state,
    nonce: derive('nonce', state),
    verifier: derive('verifier', state),
  })
  const toProblem = (provider: IdentityProvider, cause: unknown): FederationProblem => {
    if (cause instanceof Declined) return { kind: 'refused', provider }
    deps.logFault(new Error(`signing in by "${provider.name}" failed: ${logMessageOf(cause)}`))
    return { kind: 'failed', provider }
  }

  return {
    async send(name, uid, isFresh) {
      const provider = await store.identityProviders.find(name)
      if (provider === undefined) return { kind: 'gone' }
      const state = newState(uid)
      try {
        const address = await (await clientOf(provider)).authorizationUrl(
          loginOf(provider, state, isFresh),
        )
        await store.detours.begin({
          interaction: digestOf(uid),
          provider: name,
          state: digestOf(state),
          expiresAt: later(clock.now(), DETOUR_MS),
        })
        return { kind: 'sent', address }
      } catch (cause) {
        return toProblem(provider, cause)
      }
    },
    async receive(name, uid, answer) {
      const provider = await store.identityProviders.find(name)
      if (provider === undefined) return { kind: 'gone' }
      const state = answer.get('state') ?? ''
      const detour = { interaction: digestOf(uid), provider: name, state: digestOf(state) }
      if (!(await store.detours.end(detour, clock.now()))) return { kind: 'refused', provider }
      try {
        const secret = await store.identityProviders.secret(name)
        const client = await clientOf(provider)
        return {
          kind: 'identified',
          provider,
          claims: await client.redeem(loginOf(provider, state, false), answer, secret),
        }
      } catch (cause) {
        return toProblem(provider, cause)
      }
    },
  }
}

/** Loads a client at its first use. */
function clientLoader({ reach, clock, issuer }: SigninDeps) {
  const isDevelopment = isLoopbackHttp(new URL(issuer))
  let oidc: Promise<IdentityClient> | null = null
  let github: Promise<IdentityClient> | null = null
  const loadOidc = async () =>
    (await import('./oidc.ts')).createOidcClient(reach, clock, isDevelopment)
  const loadGithub = async () =>
    (await import('./github.ts')).createGithubClient(reach, isDevelopment)
  return ({ type }: IdentityProvider): Promise<IdentityClient> => {
    if (type === 'github') {
      github ??= loadGithub()
      return github
    }
    oidc ??= loadOidc()
    return oidc
  }
}

/** Without `cause`, which may contain responses with tokens. */
function logMessageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  const said = 'error' in cause && typeof cause.error === 'string' ? ` (${cause.error})` : ''
  return `${cause.message}${said}`.replace(/[^\x20-\x7e]/g, ' ').slice(0, 300)
}
