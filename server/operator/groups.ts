/** Verbs for groups of people, by which applications are opened to them. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import { readAs } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { isGroupName } from '#signin/register/access.ts'
import { readEmail } from '#signin/register/email.ts'
import { newPerson } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'
import { findPerson } from './people.ts'
import { mutation, verb } from './verb.ts'

export interface GroupRecord {
  readonly name: string
  /** The addresses of its people. */
  readonly people: readonly string[]
  /** The applications that its people may enter for being in it, by their ids. */
  readonly clients: readonly string[]
}

export interface GroupSummary {
  readonly name: string
  /** How many people belong to it. */
  readonly people: number
}

/** In the order of the names. */
export const listGroups = verb(
  z.strictObject({}),
  async ({ store }): Promise<readonly GroupSummary[]> => store.signin.groups.list(),
)

/** @throws group_not_found */
export const showGroup = verb(z.strictObject({ group: z.string() }), async (deps, { group }) => {
  const record = await describe(deps, group)
  if (record.people.length > 0 || record.clients.length > 0) return record
  const known = (await deps.store.signin.groups.list()).map(({ name }) => name)
  throw new GatewayError(
    'group_not_found',
    `there is no group "${group}"${suggest(group, known)}`,
    { hint: 'gatewayctl groups list' },
  )
})

/** What one command or file states of a group. A group may grow beyond what people type, and its export is applied whole. */
const MAX_PEOPLE = 100_000

export const groupField = z
  .string()
  .check(
    z.refine(
      isGroupName,
      'must be lower-case letters, digits, dots, hyphens and underscores, at most 64',
    ),
  )

/** A group exists as long as somebody belongs to it. */
export const emailsField = z
  .array(readAs(readEmail, 'an e-mail address'))
  .check(z.minLength(1, 'must name somebody'), z.maxLength(MAX_PEOPLE))

/** An address that is not known yet becomes a person, as `users add` would make it. @throws invalid_request */
export const addToGroup = mutation(
  'groups.add',
  z.strictObject({ group: groupField, people: emailsField }),
  async (deps, { group, people }, act) => {
    const { signin } = deps.store
    for (const email of people) {
      const known = await signin.people.findByEmail(email)
      const person = known ?? newPerson(email, deps.clock.now())
      const joined = act(person.id, { group })
      await signin.groups.add(group, person.id, known === undefined ? person : null, joined)
    }
    return describe(deps, group)
  },
)

/** From then on they may enter no application for being in it. All of them or, where one does not belong to it, nobody. @throws person_not_found */
export const removeFromGroup = mutation(
  'groups.remove',
  z.strictObject({ group: groupField, people: z.array(z.string()).check(z.minLength(1)) }),
  async (deps, { group, people }, act) => {
    const { groups } = deps.store.signin
    const found = await Promise.all(people.map((text) => findPerson(deps, text, null)))
    const members = new Set((await groups.members(group)).map(({ id }) => id))
    const stranger = found.find(({ id }) => !members.has(id))
    if (stranger !== undefined) {
      throw new GatewayError('person_not_found', `${stranger.email} is not in ${group}`, {
        hint: `gatewayctl groups show ${group}`,
      })
    }
    for (const { id } of found) await groups.remove(group, id, act(id, { left: group }))
    return describe(deps, group)
  },
)

async function describe({ store }: OperatorDeps, name: string): Promise<GroupRecord> {
  const { groups, clients } = store.signin
  const open = (await clients.list()).filter(
    ({ access }) => access !== 'everybody' && access.includes(name),
  )
  return {
    name,
    people: (await groups.members(name)).map(({ email }) => email),
    clients: open.map(({ id }) => id),
  }
}
