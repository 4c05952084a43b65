/** Verbs for sign-in clients: the applications that people sign in to (contract §10). */

import * as z from 'zod/mini'
import type { Act } from '#domain/act.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { definedIn } from '#domain/stated.ts'
import { nameField, orNull } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { isGroupName } from '#signin/register/access.ts'
import {
  type Client,
  type ClientAmendment,
  describeClient,
  isClearText,
  newClientId,
  newClientSecret,
  typeOf,
  urisProblem,
  usableUris,
} from '#signin/register/client.ts'
import { newSigningKey } from '#signin/register/signing-key.ts'
import { addressesField, allowedField } from './client-fields.ts'
import type { OperatorDeps } from './deps.ts'
import { readWebhookUrl } from './threshold-fields.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface ClientRecord {
  readonly client_id: string
  readonly name: string
  readonly redirect_uris: readonly string[]
  readonly logout_uris: readonly string[]
  readonly require_pkce: boolean
  /** Whether it has no secret: a page's script, an app, a command line. */
  readonly public: boolean
  /** Whether people sign in to it on another screen, by a code that it shows. */
  readonly device: boolean
  /** Where it is told that a session of its person has ended; null for nowhere. */
  readonly backchannel_logout_uri: string | null
  /** Whether its ID tokens say who the person is, by the scopes; else only the userinfo does. */
  readonly id_token_claims: boolean
  /** Groups, addresses and domains (`@example.org`) that may enter; null is everybody who can sign in. */
  readonly allowed: readonly string[] | null
  readonly created_at: string
  readonly updated_at: string
  readonly warnings: readonly string[]
}

export interface IssuedClientRecord extends ClientRecord {
  /** Shown once; only its hash is stored. Null for a public client. */
  readonly client_secret: string | null
  /** The address of the sign-in provider: of the running server, else as configured. Null if sign-in is off. */
  readonly issuer: string | null
}

const render = (client: Client): ClientRecord => ({
  client_id: client.id,
  name: client.name,
  redirect_uris: client.redirectUris,
  logout_uris: client.logoutUris,
  require_pkce: client.requiresPkce,
  public: client.secretDigest === null,
  device: client.isForDevices,
  backchannel_logout_uri: client.backchannelLogoutUri,
  id_token_claims: client.hasIdTokenClaims,
  allowed: client.access === 'everybody' ? null : client.access,
  created_at: renderInstant(client.createdAt),
  updated_at: renderInstant(client.updatedAt),
  warnings: warningsOf(client),
})

const warningsOf = (client: Client): readonly string[] => [
  ...unusedUris(client).map((uri) => `${uri} is not used: it does not fit the other addresses`),
  ...client.redirectUris
    .filter(isClearText)
    .map((uri) => `codes travel to ${uri} in clear text: give it https`),
  ...(client.requiresPkce ? [] : ['without PKCE, whoever sees a code on its way can use it']),
]

export function unusedUris(client: Client): readonly string[] {
  const { redirectUris, logoutUris } = usableUris(client)
  const used = [...redirectUris, ...logoutUris]
  return [...client.redirectUris, ...client.logoutUris].filter((uri) => !used.includes(uri))
}

const issued = (deps: OperatorDeps, client: Client, secret: string | null): IssuedClientRecord => ({
  ...render(client),
  client_secret: secret,
  issuer: deps.live?.authUrl ?? null,
})

/** @throws invalid_request */
export const createClient = mutation(
  'clients.create',
  z.strictObject({
    name: nameField,
    redirect_uris: z._default(addressesField, []),
    logout_uris: z._default(addressesField, []),
    require_pkce: z._default(z.boolean(), true),
    public: z._default(z.boolean(), false),
    device: z._default(z.boolean(), false),
    backchannel_logout_uri: orNull(z.string()),
    id_token_claims: z._default(z.boolean(), true),
    allowed: z._default(allowedField, null),
  }),
  async (deps, input, act): Promise<IssuedClientRecord> => {
    const at = deps.clock.now()
    const { secret, digest } = input.public ? NO_SECRET : newClientSecret()
    const client: Client = {
      id: newClientId(input.name),
      name: input.name,
      redirectUris: input.redirect_uris,
      logoutUris: input.logout_uris,
      requiresPkce: input.require_pkce,
      access: input.allowed ?? 'everybody',
      secretDigest: digest,
      isForDevices: input.device,
      backchannelLogoutUri: readLogoutUri(deps, input.backchannel_logout_uri),
      hasIdTokenClaims: input.id_token_claims,
      createdAt: at,
      updatedAt: at,
    }
    requireSound({ ...client, isPublic: input.public })
    const more = await emptyGroupWarnings(deps, client.access)
    await deps.store.signin.clients.create(client, act(client.id, describeClient(client)))
    const record = issued(deps, client, secret)
    return { ...record, warnings: [...record.warnings, ...more] }
  },
)

/** Groups exist as long as somebody belongs to them; what looks like a domain is meant as one. @throws invalid_request */
async function emptyGroupWarnings({ store }: OperatorDeps, access: Client['access'] | undefined) {
  if (access === undefined || access === 'everybody') return []
  const known = new Set((await store.signin.groups.list()).map(({ name }) => name))
  const empty = access.filter((rule) => isGroupName(rule) && !known.has(rule))
  const domain = empty.find((name) => /^[^_]+\.[a-z]{2,}$/.test(name))
  if (domain !== undefined) {
    const words = `"${domain}" is the name of a group, and nobody is in it: the domain is @${domain}`
    throw invalidInput('allowed', words)
  }
  return empty.map((name) => `nobody is in the group ${name}: gatewayctl groups add ${name} EMAIL`)
}

/** Checked as webhooks are, and again at each delivery. @throws invalid_request */
export const readLogoutUri = (
  { delivery }: Pick<OperatorDeps, 'delivery'>,
  uri: string | null,
  field = 'backchannel_logout_uri',
): string | null => (uri === null ? null : readWebhookUrl(uri, delivery.loopbackWebhooks, field))

const NO_SECRET = { secret: null, digest: null }

/** What of a client must fit together. */
export type ClientShape = Pick<
  Client,
  'redirectUris' | 'logoutUris' | 'requiresPkce' | 'isForDevices'
> & { readonly isPublic: boolean }

/** `place` stands before a field's name: that of the client in a file. @throws invalid_request */
export function requireSound(client: ClientShape, place = ''): void {
  const { redirectUris, logoutUris, requiresPkce, isForDevices, isPublic } = client
  const refuse = (field: string, problem: string) => invalidInput(place + field, problem)
  if (isForDevices && !isPublic) {
    throw refuse('device', 'is for public clients: what shows a code cannot keep a secret')
  }
  if (redirectUris.length === 0 && !isForDevices) {
    throw refuse('redirect_uris', 'must name at least one address that people are sent back to')
  }
  if (isPublic && !requiresPkce) {
    throw refuse('require_pkce', 'must stay: nothing else protects the codes of a public client')
  }
  const type = typeOf(redirectUris, isPublic)
  for (const [field, uris] of [
    ['redirect_uris', redirectUris],
    ['logout_uris', logoutUris],
  ] as const) {
    const problem = urisProblem(uris, isPublic, type)
    if (problem !== null) throw refuse(field, problem)
  }
}

/** Oldest first. */
export const listClients = verb(z.strictObject({}), async ({ store }) =>
  (await store.signin.clients.list()).map(render),
)

const byName = z.strictObject({ client: z.string() })

/** @throws client_not_found */
export const showClient = verb(byName, async (deps, { client }) =>
  render(await findClient(deps, client)),
)

/** Absent fields stay unchanged. @throws client_not_found, invalid_request */
export const editClient = mutation(
  'clients.edit',
  z.strictObject({
    client: z.string(),
    name: z.optional(nameField),
    redirect_uris: z.optional(addressesField),
    logout_uris: z.optional(addressesField),
    require_pkce: z.optional(z.boolean()),
    /** Never changes; for files that state it. */
    public: z.optional(z.boolean()),
    device: z.optional(z.boolean()),
    backchannel_logout_uri: z.optional(z.nullable(z.string())),
    id_token_claims: z.optional(z.boolean()),
    allowed: z.optional(allowedField),
  }),
  async (deps, input, act) => {
    const client = await findClient(deps, input.client)
    const { name, redirect_uris, logout_uris, require_pkce, device, allowed } = input
    const { backchannel_logout_uri: backchannel, id_token_claims } = input
    if (input.public !== undefined && input.public !== (client.secretDigest === null)) {
      throw invalidInput('public', 'cannot change: register another application')
    }
    const amendment = definedIn({
      name,
      redirectUris: redirect_uris,
      logoutUris: logout_uris,
      requiresPkce: require_pkce,
      isForDevices: device,
      backchannelLogoutUri:
        backchannel === undefined ? undefined : readLogoutUri(deps, backchannel),
      hasIdTokenClaims: id_token_claims,
      access: allowed === null ? ('everybody' as const) : allowed,
    })
    requireSound({ ...client, ...amendment, isPublic: client.secretDigest === null })
    const more = await emptyGroupWarnings(deps, amendment.access)
    const record = render(await amend(deps, client.id, amendment, act(client.id)))
    return { ...record, warnings: [...record.warnings, ...more] }
  },
)

/** The old secret becomes invalid at once; people stay signed in. @throws client_not_found */
export const rotateClientSecret = mutation(
  'clients.rotate-secret',
  byName,
  async (deps, input, act) => {
    const { id, name, secretDigest } = await findClient(deps, input.client)
    if (secretDigest === null) {
      throw new GatewayError('invalid_request', `${name} is a public client and has no secret`)
    }
    const { secret, digest } = newClientSecret()
    const rotated = act(id, { client_secret: 'new' })
    return issued(deps, await amend(deps, id, { secretDigest: digest }, rotated), secret)
  },
)

/** Its codes and tokens become invalid. @throws client_not_found */
export const removeClient = mutation('clients.remove', byName, async (deps, input, act) => {
  const client = await findClient(deps, input.client)
  const removed = act(client.id, { name: client.name, removed: true })
  await deps.store.signin.clients.remove(client.id, removed)
  return { ...render(client), removed: true }
})

/** Old keys are kept to verify existing tokens. */
export const rotateSigningKey = mutation(
  'clients.rotate-signing-key',
  z.strictObject({}),
  async ({ store, clock }, _, act) => {
    const { keyring } = store.signin
    const key = await newSigningKey(clock.now())
    for (;;) {
      const previous = await keyring.current()
      const kept = (await keyring.signingKeys()).map(({ id }) => id)
      if (await keyring.addSigningKey(key, previous, act(key.id, { kept }))) {
        return { key_id: key.id, created_at: renderInstant(key.createdAt), kept }
      }
    }
  },
)

async function amend(
  { store }: OperatorDeps,
  id: string,
  amendment: ClientAmendment,
  act: Act,
): Promise<Client> {
  const amended = await store.signin.clients.amend(id, amendment, act)
  if (amended === undefined) throw notFound(id, [])
  return amended
}

/** By id, or by an unambiguous name. @throws client_not_found */
export async function findClient({ store }: OperatorDeps, text: string): Promise<Client> {
  const { clients } = store.signin
  const exact = await clients.find(text)
  if (exact !== undefined) return exact
  const all = await clients.list()
  const [client, ...others] = all.filter(({ name }) => name === text)
  if (client !== undefined && others.length === 0) return client
  if (client === undefined) {
    throw notFound(
      text,
      all.flatMap(({ id, name }) => [id, name]),
    )
  }
  const ids = [client, ...others].map(({ id }) => id).join(', ')
  throw new GatewayError('client_not_found', `several clients are called "${text}": ${ids}`, {
    hint: 'name one by its id',
  })
}

const notFound = (text: string, known: readonly string[]): GatewayError =>
  new GatewayError('client_not_found', `no client is called "${text}"${suggest(text, known)}`, {
    hint: 'gatewayctl clients list',
  })
