/** Verbs for what a person has open: sessions of browsers, and the access of applications; each may be ended alone. */
import * as z from 'zod/mini'
import { type Instant, instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { textField } from '#forms/fields.ts'
import type { StoredArtifact } from '#signin/register/artifact.ts'
import { findPerson, personFields } from './people.ts'
import { mutation, verb } from './verb.ts'

export interface SessionRecord {
  /** Public: it opens nothing. */
  readonly id: string
  readonly began_at: string
  readonly expires_at: string
  /** When it last used the account's pages; null where it never did. */
  readonly seen_at: string | null
  /** The network address and the browser that the account's pages were opened from, or else an application last; null of one from before. */
  readonly address: string | null
  readonly browser: string | null
}

export interface AccessRecord {
  /** Public: it opens nothing. */
  readonly id: string
  readonly client_id: string
  /** The application's name; its id where it is gone. */
  readonly client_name: string
  readonly scopes: readonly string[]
  readonly expires_at: string
}

/** The beginning of an id, or of a digest, that tells one from another. */
const ID_CHARS = 12

/** What the provider keeps of a session, and the account's pages of theirs. */
interface SessionFacts {
  readonly loginTs?: number
  readonly startedAt?: number
  readonly seenAt?: number
  readonly address?: string
  readonly agent?: string
  readonly openid?: { readonly scope?: string }
}

const factsOf = ({ payload }: StoredArtifact): SessionFacts => JSON.parse(payload) as SessionFacts

/** Latest first. @throws account_not_found, person_not_found */
export const listSessions = verb(
  z.strictObject(personFields),
  async (deps, input): Promise<readonly SessionRecord[]> => {
    const { id } = await findPerson(deps, input.person, input.account)
    const at = deps.clock.now()
    const { artifacts } = deps.store.signin
    const pages = await artifacts.ofPerson('Cabinet', id, at)
    return (await artifacts.ofPerson('Session', id, at)).map((session) => {
      const page = pages.find(({ uid }) => uid === session.uid)
      return renderSession(session, page === undefined ? {} : factsOf(page), at)
    })
  },
)

function renderSession(session: StoredArtifact, page: SessionFacts, at: Instant): SessionRecord {
  const { loginTs, seenAt, address, agent } = { ...factsOf(session), ...page }
  return {
    id: session.uid ?? '',
    began_at: renderInstant(loginTs === undefined ? at : instant(loginTs * 1000)),
    expires_at: renderInstant(session.expiresAt),
    seen_at: seenAt === undefined ? null : renderInstant(instant(seenAt)),
    address: address ?? null,
    browser: agent ?? null,
  }
}

/** Of this browser alone; tokens of applications stay. @throws account_not_found, person_not_found */
export const endSession = mutation(
  'users.sessions.end',
  z.strictObject({ ...personFields, session: textField }),
  async (deps, input, act) => {
    const { artifacts } = deps.store.signin
    const { id, email } = await findPerson(deps, input.person, input.account)
    const at = deps.clock.now()
    const open = [
      ...(await artifacts.ofPerson('Session', id, at)),
      ...(await artifacts.ofPerson('Cabinet', id, at)),
    ].filter(({ uid }) => {
      const isBeginning = input.session.length >= ID_CHARS && uid?.startsWith(input.session)
      return uid === input.session || isBeginning
    })
    if (open.length === 0) {
      throw new GatewayError('person_not_found', `${email} has no such session`, {
        hint: `gatewayctl users sessions list ${id}`,
      })
    }
    const session = open[0]?.uid ?? ''
    await artifacts.end(open, act(id, { ended_session: session }))
    return { id: session, person: email, ended: true }
  },
)

/** Applications that keep access on the person's behalf. @throws account_not_found, person_not_found */
export const listAccess = verb(
  z.strictObject(personFields),
  async (deps, input): Promise<readonly AccessRecord[]> => {
    const { artifacts, clients } = deps.store.signin
    const { id } = await findPerson(deps, input.person, input.account)
    const records = new Map<string, AccessRecord>()
    // One for each session in which it was given; they are withdrawn together.
    for (const grant of await artifacts.ofPerson('Grant', id, deps.clock.now())) {
      const { clientId } = grant
      const client = clientId === null ? undefined : await clients.find(clientId)
      // The account's own pages are no application that was registered.
      if (client === undefined) continue
      const known = records.get(client.id)
      const scope = factsOf(grant).openid?.scope ?? ''
      const scopes = [...(known?.scopes ?? []), ...scope.split(' ').filter((one) => one !== '')]
      const expires_at = renderInstant(grant.expiresAt)
      records.set(client.id, {
        id: known?.id ?? grant.digest.slice(0, ID_CHARS),
        client_id: client.id,
        client_name: client.name,
        scopes: [...new Set(scopes)],
        expires_at: known && known.expires_at > expires_at ? known.expires_at : expires_at,
      })
    }
    return [...records.values()]
  },
)

/** Its tokens are refused from now on; it may ask the person again. @throws account_not_found, person_not_found, client_not_found */
export const withdrawAccess = mutation(
  'users.access.withdraw',
  z.strictObject({ ...personFields, access: z.string().check(z.minLength(ID_CHARS)) }),
  async (deps, input, act) => {
    const { artifacts } = deps.store.signin
    const { id, email } = await findPerson(deps, input.person, input.account)
    const at = deps.clock.now()
    const grants = await artifacts.ofPerson('Grant', id, at)
    const grant = grants.find(({ digest }) => digest.startsWith(input.access))
    if (grant === undefined) {
      throw new GatewayError('client_not_found', `${email} has given no such access`, {
        hint: `gatewayctl users access list ${id}`,
      })
    }
    const issued: StoredArtifact[] = []
    for (const kind of [
      'Grant',
      'AuthorizationCode',
      'DeviceCode',
      'AccessToken',
      'RefreshToken',
    ]) {
      const all = await artifacts.ofPerson(kind, id, at)
      issued.push(...all.filter(({ clientId }) => clientId === grant.clientId))
    }
    await artifacts.end(issued, act(id, { withdrawn_from: grant.clientId }))
    return { id: input.access, client_id: grant.clientId, person: email, withdrawn: true }
  },
)
