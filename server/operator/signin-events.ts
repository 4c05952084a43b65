/** Who signed in where, who was refused, and whose access changed: the log of signing in, and the acts on people and applications. */

import * as z from 'zod/mini'
import type { Act, ActChanges } from '#domain/act.ts'
import { renderInstant } from '#domain/clock.ts'
import { statedIn } from '#domain/stated.ts'
import { orNull, pageField, timeField } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { CABINET_ID, type Client } from '#signin/register/client.ts'
import { isPersonId, type PersonId } from '#signin/register/person.ts'
import {
  ACCEPTED,
  isRefusal,
  type ListedSigninEvent,
  REFUSED,
} from '#signin/register/signin-event.ts'
import { findClient } from './clients.ts'
import type { OperatorDeps } from './deps.ts'
import { invalidInput, verb } from './verb.ts'

export interface SigninEventRecord {
  readonly id: string
  readonly at: string
  /** `signed_in`, `wrong_code`, `invalid_grant`, …; of an operator's change its verb: `users.disable`. */
  readonly outcome: string
  readonly refused: boolean
  /** How the person was recognised: `code`, `passkey`, `session`, or the name of an identity provider. */
  readonly method: string | null
  /** The `sub` claim. */
  readonly person: string | null
  /** The person's address, or the one that was typed. */
  readonly email: string | null
  readonly client: string | null
  /** The network address of the browser or the application. */
  readonly address: string | null
  readonly detail: string | null
  /** The operator who made a change. */
  readonly who: string | null
  readonly changed: ActChanges | null
}

/** Nouns whose acts are of a person, who may sign in or enter more or less by them; and those of applications and third parties. */
const OF_PEOPLE = ['users', 'groups', 'accounts.members']
const NOUNS = [...OF_PEOPLE, 'clients', 'identities']

const MAX_EVENTS = 10_000

/** Newest first. @throws client_not_found */
export const listSigninEvents = verb(
  z.strictObject({
    /** An address, or a person's id. */
    person: orNull(z.string()),
    client: orNull(z.string()),
    outcome: orNull(z.string()),
    refused: z._default(z.boolean(), false),
    since: orNull(timeField),
    until: orNull(timeField),
    /** The last event of the page before. */
    before: orNull(z.string()),
    limit: pageField(MAX_EVENTS),
  }),
  async (deps, input): Promise<readonly SigninEventRecord[]> => {
    const { outcome, refused, since, until, before, limit } = input
    if (outcome !== null) await requireOutcome(deps, outcome)
    const person = input.person === null ? null : await readPerson(deps, input.person)
    const client = input.client === null ? null : await readClient(deps, input.client)
    const bounds = { limit, ...statedIn({ since, until }) }
    const idOf = <Prefix extends string>(prefix: Prefix) =>
      before === null ? null : (`${prefix}_${bodyOf(before)}` as const)
    const events = await deps.store.signin.events.list({
      ...bounds,
      ...statedIn({ person, clientId: client?.id, outcome, before: idOf('evt') }),
      refusalsOnly: refused,
    })
    const target = client?.id ?? person?.id ?? null
    // Strangers have no acts, and no act is of a person and an application.
    const hasActs = !refused && (client === null ? person?.id !== null : person === null)
    const acts = hasActs
      ? await deps.store.acts.list({
          ...bounds,
          nouns: NOUNS,
          ...statedIn({ verb: outcome, target, before: idOf('act') }),
        })
      : []
    return [...events.map(ofEvent), ...(await Promise.all(acts.map((act) => ofAct(deps, act))))]
      .sort((one, other) => (bodyOf(one.id) < bodyOf(other.id) ? 1 : -1))
      .slice(0, limit)
  },
)

/** Those of the pages, four of the protocol, and of its others those that have happened; the name of a verb has a dot. @throws invalid_request */
async function requireOutcome({ store }: OperatorDeps, outcome: string): Promise<void> {
  const known: readonly string[] = [...ACCEPTED, ...REFUSED, ...PROTOCOL]
  if (known.includes(outcome) || outcome.includes('.')) return
  if ((await store.signin.events.list({ outcome, limit: 1 })).length > 0) return
  throw invalidInput('outcome', `no event is called "${outcome}"${suggest(outcome, known)}`)
}

const PROTOCOL = ['access_denied', 'invalid_client', 'invalid_grant', 'invalid_redirect_uri']

/** Ids of both logs have four characters before the part that is ordered by time. */
const bodyOf = (id: string): string => id.slice('evt_'.length)

/** One that is registered; else the cabinet, or one that was removed and has events. @throws client_not_found */
async function readClient(deps: OperatorDeps, text: string): Promise<Pick<Client, 'id'>> {
  if (text === CABINET_ID) return { id: text }
  try {
    return await findClient(deps, text)
  } catch (cause) {
    const known = await deps.store.signin.events.list({ clientId: text, limit: 1 })
    if (known.length > 0) return { id: text }
    throw cause
  }
}

/** Strangers, who are only refused, are known by the address that they typed; who was removed, by the id that their events keep. */
async function readPerson({ store }: OperatorDeps, text: string) {
  const { people } = store.signin
  const known = (await people.findByEmail(text)) ?? (await people.find(text as PersonId))
  const id = isPersonId(text) ? text : null
  return { id: known?.id ?? id, email: known?.email ?? text }
}

const ofEvent = (event: ListedSigninEvent): SigninEventRecord => ({
  id: event.id,
  at: renderInstant(event.at),
  outcome: event.outcome,
  refused: isRefusal(event.outcome),
  method: event.method,
  person: event.personId,
  email: event.email,
  client: event.clientId,
  address: event.address,
  detail: event.detail,
  who: null,
  changed: null,
})

async function ofAct(
  { store }: OperatorDeps,
  { id, at, verb, target, who, changed }: Act,
): Promise<SigninEventRecord> {
  const isOfPerson = OF_PEOPLE.some((noun) => verb.startsWith(`${noun}.`))
  const person = isOfPerson ? (target as PersonId | null) : null
  return {
    id,
    at: renderInstant(at),
    outcome: verb,
    refused: false,
    method: null,
    person,
    email: (person && (await store.signin.people.find(person))?.email) ?? null,
    client: verb.startsWith('clients.') ? target : null,
    address: null,
    detail: null,
    who,
    changed,
  }
}
