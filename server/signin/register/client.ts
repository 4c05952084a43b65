/** Clients: the applications that people sign in to, each registered by the operator (contract §10). */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import type { Act, ActChanges } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import type { Access } from './access.ts'
import { digestOf, randomName, randomSecret } from './digest.ts'

export interface Client {
  /** `wiki_4k2m9x`, as the application sends it in `client_id`. */
  readonly id: string
  /** The name shown on the pages. */
  readonly name: string
  /** Compared character by character. */
  readonly redirectUris: readonly string[]
  /** Post-logout redirect URIs. */
  readonly logoutUris: readonly string[]
  /** False only for a client without PKCE support. */
  readonly requiresPkce: boolean
  readonly access: Access
  /**
   * SHA-256 of the client's secret in hexadecimal; null for a public client, which cannot keep one: a page's script, an app, a
   * command line (RFC 6749 §2.1). It is known by PKCE and its redirect URIs alone.
   */
  readonly secretDigest: string | null
  /** Whether people may sign in to it on another screen (RFC 8628); a public client, which then needs no redirect URI. */
  readonly isForDevices: boolean
  /** Where it is told that a session of its person has ended; null for nowhere. */
  readonly backchannelLogoutUri: string | null
  /** Whether its ID tokens say who the person is, by the scopes; else only the userinfo does. */
  readonly hasIdTokenClaims: boolean
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** Changes to a client; an absent field stays as it is. */
export type ClientAmendment = Partial<Omit<Client, 'id' | 'createdAt' | 'updatedAt'>>

export interface Clients {
  /** @throws already_exists when the id is taken */
  create(client: Client, act: Act): Promise<void>
  find(id: string): Promise<Client | undefined>
  /** Oldest first. */
  list(): Promise<readonly Client[]>
  count(): Promise<number>
  /** The act gains the client's new state. Undefined when there is no such client. */
  amend(id: string, amendment: ClientAmendment, act: Act): Promise<Client | undefined>
  /** Also revokes it: removes its codes, tokens and grants, and refuses what was begun before. False if there is no such client. */
  remove(id: string, act: Act): Promise<boolean>
}

/** What an act says of a client: its state, without its secret. */
export const describeClient = (client: Client): ActChanges => ({
  name: client.name,
  redirect_uris: client.redirectUris,
  logout_uris: client.logoutUris,
  require_pkce: client.requiresPkce,
  public: client.secretDigest === null,
  device: client.isForDevices,
  backchannel_logout_uri: client.backchannelLogoutUri,
  id_token_claims: client.hasIdTokenClaims,
  allowed: client.access === 'everybody' ? null : client.access,
})

/** The cabinet, which is built in. No id of a registered application is like it: those have a suffix. */
export const CABINET_ID = 'cabinet'

const SLUG_CHARS = 24
const SUFFIX_CHARS = 6

/** A slug of the name, with a random suffix. */
export function newClientId(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_CHARS)
    .replace(/^-+|-+$/g, '')
  return `${slug || 'client'}_${randomName(SUFFIX_CHARS)}`
}

/** A secret and its digest, which is what is stored. */
export function newClientSecret(): { readonly secret: string; readonly digest: string } {
  const secret = `cs_${randomSecret()}`
  return { secret, digest: digestOf(secret) }
}

const MAX_URI = 2000

/** Why a URL is not allowed as a redirect URI; null if it is allowed. */
export function redirectUriProblem(text: string): string | null {
  if (/[\s\\]|[^\x21-\x7e]/.test(text)) return 'has characters that an address does not have'
  const url = parseAbsoluteUrl(text) ?? (OF_APP.test(text) ? URL.parse(text) : null)
  if (url === null) return 'is not an absolute address such as https://app.example.org/callback'
  if (!isWeb(url) && !isPrivateScheme(url)) return NEITHER
  if (text.includes('#')) return 'has a fragment'
  if (url.username !== '' || url.password !== '') return 'names a user'
  if (text.includes('*')) return 'has an asterisk: addresses are compared as they are written'
  return text.length > MAX_URI ? `is longer than ${MAX_URI} characters` : null
}

/** `com.example.app:/callback`, with one slash, as RFC 8252 writes it. */
const OF_APP = /^[a-z0-9-]+(\.[a-z0-9-]+)+:\/(?!\/)/

const NEITHER = 'is neither https nor http'

const isWeb = ({ protocol }: URL): boolean => protocol === 'https:' || protocol === 'http:'

/** A reversed domain of its vendor (RFC 8252 §7.1), which no other app has by chance, and no browser understands. */
const isPrivateScheme = ({ protocol }: URL): boolean =>
  /^[a-z0-9-]+(\.[a-z0-9-]+)+:$/.test(protocol)

export type ApplicationType = 'native' | 'web'

/** The hosts of this machine in addresses of apps (RFC 8252 §7.3). The protocol library knows no others. */
const HERE: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether an application of this type may send people there, back or after a sign-out. The library accepts no client otherwise. */
function fitsType(type: ApplicationType, uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null) return false
  if (type === 'web') return isWeb(url)
  return url.protocol === 'https:' ? !HERE.includes(url.hostname) : isOfApp(url)
}

const isOfApp = (url: URL): boolean =>
  isPrivateScheme(url) || (url.protocol === 'http:' && HERE.includes(url.hostname))

/**
 * Native apps may be sent back to a scheme of their own or to any port of this machine (RFC 8252 §7); so is one that is sent
 * back nowhere. Null if the URIs fit neither a native app nor the web.
 */
function applicationType(redirectUris: readonly string[]): ApplicationType | null {
  if (redirectUris.length === 0) return 'native'
  const urls = redirectUris.flatMap((uri) => URL.parse(uri) ?? [])
  const allFit = (type: ApplicationType) => redirectUris.every((uri) => fitsType(type, uri))
  if (urls.some(isOfApp) && allFit('native')) return 'native'
  return allFit('web') ? 'web' : null
}

/** Only a public client can be an app; null if its redirect URIs fit no type. */
export const typeOf = (redirectUris: readonly string[], isPublic: boolean) =>
  isPublic ? applicationType(redirectUris) : 'web'

/** What the protocol can use of a client's addresses: all, unless they were registered before they were judged together. */
export function usableUris({ redirectUris, logoutUris, secretDigest }: Client) {
  const type = typeOf(redirectUris, secretDigest === null) ?? 'web'
  const used = (uris: readonly string[]) => uris.filter((uri) => fitsType(type, uri))
  return { type, redirectUris: used(redirectUris), logoutUris: used(logoutUris) }
}

/** Why a client may not have these redirect or logout URIs; null if it may. `type` is that of its redirect URIs. */
export function urisProblem(
  uris: readonly string[],
  isPublic: boolean,
  type: ApplicationType | null,
): string | null {
  const strange = uris.find((uri) => !/^https?:/i.test(uri))
  if (strange !== undefined && !isPublic) {
    return `"${strange}" ${NEITHER}: only a public client is sent back to a scheme of its own`
  }
  if (type === null) {
    return `"${strange}" cannot be combined with http addresses of other machines, or https ones of this one`
  }
  const misfit = uris.find((uri) => !fitsType(type, uri))
  if (misfit === undefined) return null
  return type === 'web'
    ? `"${misfit}" ${NEITHER}, as all of its redirect addresses are: a scheme of its own is for apps that are sent back to one`
    : `"${misfit}" is not for an app: it takes a scheme of its own, http of this machine (${HERE.join(', ')}) or https of another`
}

/** Whether data sent there crosses a network unencrypted. */
export function isClearText(uri: string): boolean {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
}
