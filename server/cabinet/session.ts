/** Sessions of the cabinet: opaque, stored by their digest, and never longer than the session of the sign-in provider that they came from. */
import { createHmac } from 'node:crypto'
import { HOUR_MS, type Instant, instant, LARGE_STEP_MS, later, MINUTE_MS } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import {
  type Artifact,
  type Artifacts,
  MAX_AGENT_CHARS,
  type StoredArtifact,
} from '#signin/register/artifact.ts'
import { digestOf, randomSecret } from '#signin/register/digest.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { SigninEvent } from '#signin/register/signin-event.ts'

/** The artifacts' kind, and that of the provider's own sessions. */
const KIND = 'Cabinet'
const PROVIDER_KIND = 'Session'

const IDLE_MS = 12 * HOUR_MS
/** Its use is noted so often. */
const NOTED_MS = 5 * MINUTE_MS

export interface Session {
  readonly digest: string
  readonly personId: PersonId
  /** How many revocations there were when its sign-in began: what is begun for it must fail after another. */
  readonly revocations: number
  /** The public id of the provider's session, which ends this one with it. */
  readonly uid: string
  /** The account that the person has chosen; null until they do. */
  readonly account: AccountId | null
  readonly startedAt: Instant
  readonly seenAt: Instant
  /** The network address and the browser that it was begun from. */
  readonly address: string
  readonly agent: string
  /** In every form; derived from the cookie, so that only this browser knows it. */
  readonly csrf: string
}

type Facts = Pick<Session, 'account' | 'startedAt' | 'seenAt' | 'address' | 'agent'>

export interface NewSession {
  readonly personId: PersonId
  readonly uid: string
  readonly address: string
  readonly agent: string
  /** How many revocations there were when the sign-in began. */
  readonly revocations: number
}

/** A new session, and the value of its cookie; null if the person was revoked meanwhile. */
export async function beginSession(
  artifacts: Artifacts,
  { personId, uid, address, agent, revocations }: NewSession,
  at: Instant,
): Promise<string | null> {
  const id = randomSecret()
  const facts: Facts = {
    account: null,
    startedAt: at,
    seenAt: at,
    address,
    agent: agent.slice(0, MAX_AGENT_CHARS),
  }
  const after = toArtifact(digestOf(id), { personId, uid }, facts)
  const change = { kind: KIND, digest: after.digest, version: 0, after }
  const isWritten = await artifacts.write({
    changes: [change],
    revokedGrants: [],
    events: [],
    revocations,
  })
  return isWritten ? id : null
}

/** The session of a cookie; undefined once it, the provider's session, or either's time has ended. */
export async function findSession(
  artifacts: Artifacts,
  id: string,
  at: Instant,
): Promise<Session | undefined> {
  const digest = digestOf(id)
  const stored = await artifacts.find(KIND, digest)
  if (stored === undefined || stored.expiresAt <= at) return undefined
  if (isFromFuture(stored, at)) {
    // Removed, so that it is not valid again when the clock has caught up.
    await replace(artifacts, stored, null)
    return undefined
  }
  return (await isProviderSession(artifacts, stored, at)) ? toSession(stored, id) : undefined
}

/** Whether it was used before the clock was set back by a large step: it would be valid for longer, by that step. */
const isFromFuture = ({ expiresAt }: StoredArtifact, at: Instant): boolean =>
  expiresAt > later(at, IDLE_MS + LARGE_STEP_MS)

/** Notes that somebody uses it, so that it is not idle: what an open page asks for by itself is no use. */
export async function noteUse(
  artifacts: Artifacts,
  { digest, seenAt }: Session,
  at: Instant,
): Promise<void> {
  if (at - seenAt <= NOTED_MS) return
  const stored = await artifacts.find(KIND, digest)
  if (stored !== undefined) await rewrite(artifacts, stored, { seenAt: at })
}

/** Whether nobody has used it for so long that it has ended by that. */
export const isIdle = ({ seenAt }: Session, at: Instant): boolean => at - seenAt >= IDLE_MS

async function isProviderSession(
  artifacts: Artifacts,
  { uid, personId }: StoredArtifact,
  at: Instant,
): Promise<boolean> {
  const found = uid === null ? undefined : await artifacts.findByUid(PROVIDER_KIND, uid)
  return found !== undefined && found.expiresAt > at && found.personId === personId
}

/** Keeps which account the person looks at. */
export async function chooseAccount(
  artifacts: Artifacts,
  { digest }: Session,
  account: AccountId,
): Promise<void> {
  const stored = await artifacts.find(KIND, digest)
  if (stored !== undefined) await rewrite(artifacts, stored, { account })
}

async function rewrite(
  artifacts: Artifacts,
  stored: StoredArtifact,
  changed: Partial<Facts>,
): Promise<void> {
  const { digest, personId, uid } = stored
  const facts: Facts = { ...(JSON.parse(stored.payload) as Facts), ...changed }
  if (personId === null || uid === null) return
  await replace(artifacts, stored, toArtifact(digest, { personId, uid }, facts))
}

/** Another request of the session may have written it meanwhile: then that stays. */
async function replace(
  artifacts: Artifacts,
  { kind, digest, version, revocations }: StoredArtifact,
  after: Artifact | null,
): Promise<void> {
  await artifacts.write({
    changes: [{ kind, digest, version, after }],
    revokedGrants: [],
    events: [],
    revocations,
  })
}

/** Ends the session and the provider's own, so that nobody is signed in again without a code. */
export async function endSession(
  artifacts: Artifacts,
  { uid, digest }: Session,
  signedOut: SigninEvent,
): Promise<void> {
  const ofProvider = await artifacts.findByUid(PROVIDER_KIND, uid)
  await artifacts.end(
    [{ kind: KIND, digest }, ...(ofProvider === undefined ? [] : [ofProvider])],
    signedOut,
  )
}

/** The public id of the provider's session that a browser has, and whose it is; undefined for none. */
export async function providerSession(
  artifacts: Artifacts,
  id: string,
): Promise<{ readonly uid: string; readonly personId: PersonId } | undefined> {
  const found = await artifacts.find(PROVIDER_KIND, digestOf(id))
  const { uid = null, personId = null } = found ?? {}
  return uid === null || personId === null ? undefined : { uid, personId }
}

const toArtifact = (
  digest: string,
  { personId, uid }: Pick<Session, 'personId' | 'uid'>,
  facts: Facts,
): Artifact => ({
  kind: KIND,
  digest,
  payload: JSON.stringify(facts),
  grantId: null,
  uid,
  personId,
  clientId: null,
  consumedAt: null,
  expiresAt: later(facts.seenAt, IDLE_MS),
})

function toSession(
  { digest, payload, personId, uid, revocations }: StoredArtifact,
  id: string,
): Session {
  const facts = JSON.parse(payload) as Facts
  return {
    digest,
    personId: personId as PersonId,
    revocations,
    uid: uid ?? '',
    account: facts.account,
    startedAt: instant(facts.startedAt),
    seenAt: instant(facts.seenAt),
    address: facts.address,
    agent: facts.agent,
    csrf: createHmac('sha256', id).update('csrf').digest('base64url'),
  }
}
