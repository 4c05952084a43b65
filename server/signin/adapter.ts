/** The storage adapter of oidc-provider, on our own store. Ids are hashed before they are stored. */
import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js'
import { type Adapter, type Payload, Provider } from 'oidc-provider/lib/provider.js'
import { type Clock, LARGE_STEP_MS, later } from '#domain/clock.ts'
import { type Artifact, MAX_AGENT_CHARS } from './register/artifact.ts'
import { type Client, usableUris } from './register/client.ts'
import { digestOf } from './register/digest.ts'
import type { PersonId } from './register/person.ts'
import { requestArtifacts } from './request-artifacts.ts'
import type { SigninStore } from './store.ts'

/** For the library, which asks for one adapter per kind. */
export const adaptersOf =
  (store: SigninStore, clock: Clock) =>
  (kind: string): Adapter =>
    kind === 'Client' ? clientAdapter(store) : artifactAdapter(clock, kind)

/**
 * In place of a device's own code where it was found by the code that a person types: the library writes it again under this
 * name, and only its digest is known. It reads and writes, and is never consumed: no digest lets anybody in.
 */
const DEVICE_CODE = 'DeviceCode'
const HANDLE = /^~([\da-f]{64})$/

const toHandle = (digest: string): string => `~${digest}`

const digestOfId = (kind: string, id: string): string =>
  (kind === DEVICE_CODE ? HANDLE.exec(id)?.[1] : undefined) ?? digestOf(id)

function artifactAdapter(clock: Clock, kind: string): Adapter {
  return {
    async upsert(id, payload, expiresInSeconds = 0) {
      const artifacts = requestArtifacts()
      const expiresAt = later(clock.now(), expiresInSeconds * 1000)
      const whole = kind === 'Session' ? { ...payload, ...whence() } : payload
      const artifact = toArtifact(kind, id, whole, expiresAt)
      artifacts.put(artifact)
      const { grantId } = artifact
      if (kind !== 'RefreshToken' || grantId === null) return
      // A refresh token is useless without its grant, which may expire earlier, so the grant is extended.
      const grant = await artifacts.find('Grant', digestOf(grantId))
      if (grant !== undefined && grant.expiresAt < expiresAt) artifacts.put({ ...grant, expiresAt })
    },
    async find(id) {
      const artifacts = requestArtifacts()
      const artifact = await artifacts.find(kind, digestOfId(kind, id))
      if (artifact === undefined) return undefined
      const payload = { ...toPayload(artifact), jti: id }
      if (isFromFuture(payload, clock)) {
        // Removed, so that it is not valid again when the clock has caught up.
        await artifacts.remove(kind, artifact.digest)
        return undefined
      }
      // Otherwise the library would treat a late replay of a used code as expired, and not revoke its tokens.
      return isUsedCode(artifact) ? { ...payload, exp: NEVER } : payload
    },
    // Without the id, which callers that look up by uid do not need.
    async findByUid(uid) {
      const artifact = await requestArtifacts().findByUid(kind, uid)
      const payload = artifact && toPayload(artifact)
      return payload && !isFromFuture(payload, clock) ? payload : undefined
    },
    async findByUserCode(userCode) {
      const artifact = await requestArtifacts().findByUid(kind, digestOf(userCode))
      if (artifact === undefined) return undefined
      const payload = { ...toPayload(artifact), jti: toHandle(artifact.digest), userCode }
      return isFromFuture(payload, clock) ? undefined : payload
    },
    async consume(id) {
      const artifacts = requestArtifacts()
      const artifact = await artifacts.find(kind, digestOf(id))
      if (artifact === undefined) throw new InvalidGrant('it has ended')
      artifacts.put({ ...artifact, consumedAt: clock.now() })
    },
    destroy: (id) => requestArtifacts().remove(kind, digestOf(id)),
    async revokeByGrantId(grantId) {
      requestArtifacts().revokeGrant(kind, grantId)
    },
  }
}

/** From where the session was last used, for lists of it; the library reads none of this. */
const whence = (): Payload => ({
  address: Provider.ctx?.ip,
  agent: Provider.ctx?.get('user-agent').slice(0, MAX_AGENT_CHARS),
})

/** An `exp`, in seconds since the Unix epoch. */
const NEVER = Number.MAX_SAFE_INTEGER

const isUsedCode = ({ kind, consumedAt }: Artifact): boolean =>
  kind === 'AuthorizationCode' && consumedAt !== null

/** Whether it was issued before the clock was set back by a large step: it would be valid for longer than stated, by that step. */
const isFromFuture = ({ iat, loginTs }: Payload, clock: Clock): boolean =>
  [iat, loginTs].some(
    (seconds) => typeof seconds === 'number' && seconds * 1000 > later(clock.now(), LARGE_STEP_MS),
  )

function toArtifact(
  kind: string,
  id: string,
  { jti: _, userCode, ...payload }: Payload,
  expiresAt: Artifact['expiresAt'],
): Artifact {
  const session = payload['session'] as { readonly accountId?: unknown } | undefined
  const result = payload['result'] as
    | { readonly login?: { readonly accountId?: unknown } }
    | undefined
  const params = payload['params'] as { readonly client_id?: unknown } | undefined
  return {
    kind,
    digest: digestOfId(kind, id),
    payload: JSON.stringify(withoutCookie(payload)),
    grantId: textOf(payload['grantId']),
    uid:
      kind === 'Session'
        ? textOf(payload['uid'])
        : typeof userCode === 'string'
          ? digestOf(userCode)
          : null,
    // Who has completed an interaction may be somebody else than the session in which it began.
    personId: textOf(
      payload['accountId'] ?? result?.login?.accountId ?? session?.accountId,
    ) as PersonId | null,
    clientId: textOf(payload['clientId'] ?? params?.client_id),
    consumedAt: null,
    expiresAt,
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The library copies the session id into an interaction and never reads it, so it is not stored. */
function withoutCookie(payload: Payload): Payload {
  const { session } = payload
  if (typeof session !== 'object' || session === null || !('cookie' in session)) return payload
  const { cookie: _, ...rest } = session
  return { ...payload, session: rest }
}

const toPayload = ({ kind, payload, consumedAt, expiresAt }: Artifact): Payload => ({
  ...(JSON.parse(payload) as Payload),
  // A grant's expiry is extended with its refresh tokens.
  ...(kind === 'Grant' && { exp: Math.floor(expiresAt / 1000) }),
  ...(consumedAt !== null && { consumed: consumedAt / 1000 }),
})

function clientAdapter({ clients }: SigninStore): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error('clients are registered by the operator alone')
  }
  const notFound = async () => undefined
  return {
    async find(id) {
      const client = await clients.find(id)
      return client && toMetadata(client)
    },
    upsert: refuse,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
    findByUid: notFound,
    findByUserCode: notFound,
  }
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Client metadata (OpenID Connect Registration). A client with a secret may use `client_secret_basic` or `client_secret_post`. */
function toMetadata(client: Client): Payload {
  // The library refuses every request of a client with an address that it does not accept, and sign-outs at others with them.
  const { type, redirectUris, logoutUris } = usableUris(client)
  return {
    client_id: client.id,
    client_name: client.name,
    application_type: type,
    ...(client.secretDigest === null
      ? { token_endpoint_auth_method: 'none' }
      : { token_endpoint_auth_method: 'client_secret_basic', client_secret: client.secretDigest }),
    redirect_uris: redirectUris,
    post_logout_redirect_uris: logoutUris,
    response_types: redirectUris.length === 0 ? [] : ['code'],
    grant_types: [
      'authorization_code',
      'refresh_token',
      ...(client.isForDevices ? [DEVICE_GRANT] : []),
    ],
    ...(client.backchannelLogoutUri !== null && {
      backchannel_logout_uri: client.backchannelLogoutUri,
      // So that its ID tokens have `sid`.
      backchannel_logout_session_required: true,
    }),
    require_pkce: client.requiresPkce,
    access: client.access,
    id_token_claims: client.hasIdTokenClaims,
  }
}
