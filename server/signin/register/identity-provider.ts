/** Identity providers: third parties that people may sign in by, each named by the operator (spec §1, hardening §3.2). */

import type { Instant } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'

/** How it is spoken to: OpenID Connect, or GitHub's own way of OAuth. */
export type IdentityProviderType = 'oidc' | 'github'

export interface IdentityProvider {
  /** `google`: part of the address that people come back to, so it never changes. */
  readonly name: string
  readonly type: IdentityProviderType
  /** What people see on its button. */
  readonly label: string
  /** Exactly as the third party names itself in its tokens; never changes, because identities hang on it. */
  readonly issuer: string
  /** As which application the gateway is registered there. */
  readonly clientId: string
  /** Domains whose addresses it has the last word on, in lower case. */
  readonly authoritativeFor: readonly string[]
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

export interface IdentityProviders {
  /** The secret is sealed. @throws already_exists when name or issuer is taken, internal_error without a master key */
  add(provider: IdentityProvider, secret: string): Promise<void>
  find(name: string): Promise<IdentityProvider | undefined>
  /** In the order in which they were added. */
  list(): Promise<readonly IdentityProvider[]>
  /** Replaces label, client id and domains, and the secret unless it is null. Undefined when there is no such provider. */
  amend(provider: IdentityProvider, secret: string | null): Promise<IdentityProvider | undefined>
  /** Its identities end with it, and whoever is on the way there and back. False when there is no such provider. */
  remove(name: string): Promise<boolean>
  /** @throws internal_error when it cannot be read with this master key */
  secret(name: string): Promise<string>
}

export interface IdentityPreset {
  readonly type: IdentityProviderType
  readonly issuer: string
  readonly label: string
}

/** Those that are known by name. */
export const IDENTITY_PRESETS: Readonly<Record<string, IdentityPreset>> = {
  google: { type: 'oidc', issuer: 'https://accounts.google.com', label: 'Google' },
  github: { type: 'github', issuer: 'https://github.com', label: 'GitHub' },
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/

/** Lower-case letters, digits and hyphens: it stands in an address. */
export const isIdentityProviderName = (text: string): boolean => NAME.test(text)

/** Where people come back to, below `{auth_url}`; registered at the third party character by character. */
export const callbackPath = (name: string): string => `/identity/${name}/callback`

const MAX_ISSUER = 500

/** What keeps a text from being an issuer; null when nothing does. */
export function issuerProblem(text: string): string | null {
  const url = URL.parse(text)
  if (url === null) return 'is not an absolute address'
  if (url.protocol !== 'https:' && !isLoopbackHttp(url)) return 'is not https'
  if (url.username !== '' || url.password !== '') return 'names a user'
  if (/[?#]/.test(text)) return 'has a query or a fragment'
  if (/[\s\\]|[^\x21-\x7e]/.test(text)) return 'has characters that an address does not have'
  return text.length > MAX_ISSUER ? `is longer than ${MAX_ISSUER} characters` : null
}

/** Plain http within this very machine: good for trying things out, and nothing else. */
export const isLoopbackHttp = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && isLoopbackHost(hostname)
