/** Identity providers: third parties that people may sign in with, each added by the operator (hardening §3.2). */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import type { Act, ActChanges } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'

/** The protocol: OpenID Connect, or GitHub's variant of OAuth 2.0. */
export const IDENTITY_PROVIDER_TYPES = ['oidc', 'github'] as const
export type IdentityProviderType = (typeof IDENTITY_PROVIDER_TYPES)[number]

export interface IdentityProvider {
  /** `google`: part of the redirect URI, so it never changes. */
  readonly name: string
  readonly type: IdentityProviderType
  /** The label of its button. */
  readonly label: string
  /** Exactly the `iss` of its tokens; never changes, because identities refer to it. */
  readonly issuer: string
  /** The gateway's client id there. */
  readonly clientId: string
  /** The e-mail domains that it is authoritative for, in lower case. */
  readonly authoritativeFor: readonly string[]
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** Changes to an identity provider; an absent field stays as it is. */
export type IdentityProviderAmendment = Partial<
  Pick<IdentityProvider, 'label' | 'clientId' | 'authoritativeFor'>
> & { readonly secret?: string }

export interface IdentityProviders {
  /** Encrypts the secret. @throws already_exists when name or issuer is taken, internal_error without a master key */
  add(provider: IdentityProvider, secret: string, act: Act): Promise<void>
  find(name: string): Promise<IdentityProvider | undefined>
  /** In the order in which they were added. */
  list(): Promise<readonly IdentityProvider[]>
  /** Encrypts a new secret. The act gains the provider's new state. Undefined when there is no such provider. */
  amend(
    name: string,
    amendment: IdentityProviderAmendment,
    act: Act,
  ): Promise<IdentityProvider | undefined>
  /** Also removes its identities and logins in progress. False if there is no such provider. */
  remove(name: string, act: Act): Promise<boolean>
  /** @throws internal_error when it cannot be read with this master key */
  secret(name: string): Promise<string>
}

/** What an act says of an identity provider: its state, without its secret. */
export const describeIdentityProvider = (provider: IdentityProvider): ActChanges => ({
  type: provider.type,
  label: provider.label,
  issuer: provider.issuer,
  client_id: provider.clientId,
  authoritative_for: provider.authoritativeFor,
})

export interface IdentityPreset {
  readonly type: IdentityProviderType
  readonly issuer: string
  readonly label: string
}

/** Providers with built-in settings. */
export const IDENTITY_PRESETS: Readonly<Record<string, IdentityPreset>> = {
  google: { type: 'oidc', issuer: 'https://accounts.google.com', label: 'Google' },
  github: { type: 'github', issuer: 'https://github.com', label: 'GitHub' },
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/

/** Lower-case letters, digits and hyphens, because the name is part of a URL. */
export const isIdentityProviderName = (text: string): boolean => NAME.test(text)

/** The path of its redirect URI below `{auth_url}`, exactly as registered at the third party. */
export const callbackPath = (name: string): string => `/identity/${name}/callback`

const MAX_ISSUER = 500

/** Why a text is not a valid issuer; null if it is valid. */
export function issuerProblem(text: string): string | null {
  if (/[\s\\]|[^\x21-\x7e]/.test(text)) return 'has characters that an address does not have'
  const url = parseAbsoluteUrl(text)
  if (url === null) return 'is not an absolute address such as https://login.example.org'
  if (url.protocol !== 'https:' && !isLoopbackHttp(url)) return 'is not https'
  if (url.username !== '' || url.password !== '') return 'names a user'
  if (/[?#]/.test(text)) return 'has a query or a fragment'
  return text.length > MAX_ISSUER ? `is longer than ${MAX_ISSUER} characters` : null
}

/** Plain http on loopback: for development only. */
export const isLoopbackHttp = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && isLoopbackHost(hostname)
