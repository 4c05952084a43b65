/** Verbs for people who can sign in: list, show, add, disable, remove, revoke sessions, unlink identities. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { LANGUAGES, type Language } from '#domain/language.ts'
import { definedIn, statedIn } from '#domain/stated.ts'
import { lineField, nameField, orNull, pageField, readAs, scopeField } from '#forms/fields.ts'
import { suggest } from '#forms/nearest.ts'
import { readEmail } from '#signin/register/email.ts'
import type { Role } from '#signin/register/membership.ts'
import { newPerson, type Person, type PersonId } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'
import { findOpenAccount, findScope } from './find-account.ts'
import { findIdentityProvider, type IdentityRecord, identitiesOf } from './identities.ts'
import { type PasskeyRecord, passkeysOf } from './passkey-record.ts'
import { type DraftAct, mutation, verb } from './verb.ts'
import { requireAnotherWay } from './ways-in.ts'

export interface PersonRecord {
  /** The `sub` claim. */
  readonly id: string
  readonly email: string
  readonly email_verified: boolean
  readonly name: string | null
  /** The accounts that they belong to, by name, and in which role. */
  readonly accounts: readonly { readonly account: string; readonly role: Role }[]
  /** The language that they have chosen for the pages; null until then. */
  readonly language: Language | null
  readonly disabled: boolean
  readonly disabled_at: string | null
  readonly created_at: string
  readonly last_sign_in_at: string | null
}

export interface PersonDetailsRecord extends PersonRecord {
  /** The number of active sign-in sessions. */
  readonly sessions: number
  readonly identities: readonly IdentityRecord[]
  readonly passkeys: readonly PasskeyRecord[]
  readonly groups: readonly string[]
}

async function render(
  { store }: OperatorDeps,
  person: Person,
  names: ReadonlyMap<string, string>,
): Promise<PersonRecord> {
  const memberships = await store.signin.memberships.ofPerson(person.id)
  return {
    id: person.id,
    email: person.email,
    email_verified: person.isEmailVerified,
    name: person.name,
    accounts: memberships.map(({ accountId, role }) => ({
      account: names.get(accountId) ?? accountId,
      role,
    })),
    language: person.language,
    disabled: person.disabledAt !== null,
    disabled_at: renderInstant(person.disabledAt),
    created_at: renderInstant(person.createdAt),
    last_sign_in_at: renderInstant(person.lastSignInAt),
  }
}

const accountNames = async ({ store }: OperatorDeps): Promise<ReadonlyMap<string, string>> =>
  new Map((await store.accounts.list()).map(({ id, name }) => [id, name]))

async function details(deps: OperatorDeps, person: Person): Promise<PersonDetailsRecord> {
  const { artifacts } = deps.store.signin
  return {
    ...(await render(deps, person, await accountNames(deps))),
    sessions: await artifacts.countSessions(person.id, deps.clock.now()),
    identities: await identitiesOf(deps, person.id),
    passkeys: await passkeysOf(deps, person.id),
    groups: await deps.store.signin.groups.ofPerson(person.id),
  }
}

const MAX_LISTED = 10_000

/** Newest first. @throws account_not_found, person_not_found */
export const listPeople = verb(
  z.strictObject({
    account: scopeField,
    /** A substring of the e-mail address. */
    matching: orNull(z.string()),
    disabled: orNull(z.boolean()),
    /** The last person of the previous page, by address or id. */
    before: orNull(z.string()),
    limit: pageField(MAX_LISTED),
  }),
  async (deps, { account, matching, disabled, before, limit }) => {
    const accounts = await accountNames(deps)
    const within = await findScope(deps, account)
    const filter = statedIn({
      accountId: within?.id,
      matching,
      isDisabled: disabled,
      before: before === null ? null : await findPerson(deps, before, account),
    })
    const people = await deps.store.signin.people.list({ ...filter, limit })
    const records: PersonRecord[] = []
    for (const person of people) records.push(await render(deps, person, accounts))
    return records
  },
)

/** A person, of the account that is named or of any. */
export const personFields = { account: scopeField, person: z.string() }

const namedPerson = z.strictObject(personFields)

/** @throws person_not_found */
export const showPerson = verb(namedPerson, async (deps, { person, account }) =>
  details(deps, await findPerson(deps, person, account)),
)

/** The address is verified at the first sign-in; the account is then theirs, as its owner. @throws invalid_request, already_exists, account_not_found, account_closed */
export const addPerson = mutation(
  'users.add',
  z.strictObject({
    email: readAs(readEmail, 'an e-mail address'),
    name: z.optional(nameField),
    account: z.optional(z.string()),
  }),
  async (deps, { email, name, account }, act) => {
    const { people, memberships } = deps.store.signin
    const at = deps.clock.now()
    const person = { ...newPerson(email, at), name: name ?? null }
    // Only the id, because the log of acts outlives a removed person.
    if (account === undefined) await people.add(person, act(person.id, { account: null }))
    else {
      const { id: accountId, name } = await findOpenAccount(deps, account)
      const owner = { accountId, personId: person.id, role: 'owner', since: at } as const
      await memberships.put(owner, person, act(person.id, { account: name }))
    }
    return details(deps, person)
  },
)

/** A new address is verified at the next sign-in; `sub` stays. @throws person_not_found, already_exists, invalid_request */
export const editPerson = mutation(
  'users.edit',
  z.strictObject({
    ...personFields,
    name: z.optional(nameField),
    email: z.optional(readAs(readEmail, 'an e-mail address')),
  }),
  async (deps, { person: text, account, name, email }, act) => {
    const { id } = await findPerson(deps, text, account)
    const amendment = definedIn({ name, email })
    // What it was and is would outlive a removed person.
    const edited = act(id, { edited: Object.keys(amendment) })
    const changed = await deps.store.signin.people.amend(id, amendment, edited)
    if (changed === undefined) throw notFound(text, [])
    return details(deps, changed)
  },
)

/** The language of the pages, whatever the browser prefers. @throws person_not_found */
export const setLanguage = mutation(
  'users.language',
  z.strictObject({ ...personFields, language: z.enum(LANGUAGES) }),
  async (deps, { person: text, account, language }, act) => {
    const { id } = await findPerson(deps, text, account)
    const changed = await deps.store.signin.people.setLanguage(id, language, act(id))
    if (changed === undefined) throw notFound(text, [])
    return details(deps, changed)
  },
)

/** Signs the person out everywhere and prevents sign-in. @throws person_not_found */
export const disablePerson = mutation('users.disable', namedPerson, async (deps, input, act) =>
  setDisabled(deps, input, true, act),
)

/** @throws person_not_found */
export const enablePerson = mutation('users.enable', namedPerson, async (deps, input, act) =>
  setDisabled(deps, input, false, act),
)

async function setDisabled(
  deps: OperatorDeps,
  { person: text, account }: z.output<typeof namedPerson>,
  disabled: boolean,
  act: DraftAct,
) {
  const { id } = await findPerson(deps, text, account)
  const changed = await deps.store.signin.people.setDisabled(id, disabled, act(id, { disabled }))
  if (changed === undefined) throw notFound(text, [])
  return details(deps, changed)
}

/** If the address signs in again, it is a new person with a new `sub`. @throws person_not_found */
export const removePerson = mutation('users.remove', namedPerson, async (deps, input, act) => {
  const person = await findPerson(deps, input.person, input.account)
  const record = await details(deps, person)
  await deps.store.signin.people.remove(person.id, act(person.id, { removed: true }))
  return { ...record, removed: true }
})

/** Revokes every session, code and token; the person can sign in again. @throws person_not_found */
export const revokeSessions = mutation(
  'users.sessions.revoke',
  namedPerson,
  async (deps, input, act) => {
    const person = await findPerson(deps, input.person, input.account)
    const ended = await deps.store.signin.artifacts.revokePerson(person.id, act(person.id))
    return { ...(await details(deps, person)), ended_sessions: ended }
  },
)

/** OpenID Connect Core §2. */
const MAX_SUBJECT_CHARS = 255

/**
 * Links what the person is at a third party, by its permanent identifier there; no e-mail address is compared.
 * @throws person_not_found, provider_not_found; already_exists where it is somebody else's
 */
export const linkIdentity = mutation(
  'users.identities.add',
  z.strictObject({
    ...personFields,
    provider: z.string(),
    subject: lineField(MAX_SUBJECT_CHARS).check(z.minLength(1)),
    /** The person's name there. */
    name: orNull(nameField),
  }),
  async (deps, input, act) => {
    const { artifacts, identities } = deps.store.signin
    const person = await findPerson(deps, input.person, input.account)
    const { name, issuer } = await findIdentityProvider(deps, input.provider)
    const identity = { issuer, subject: input.subject, claimedName: input.name }
    const revocations = await artifacts.revocations()
    const linked = act(person.id, { linked: name })
    if (!(await identities.link(identity, person.id, deps.clock.now(), revocations, linked))) {
      throw new GatewayError('already_exists', `this identity at ${name} is somebody else's`)
    }
    return { ...(await details(deps, person)), linked: name }
  },
)

/** Other ways to sign in and existing sessions stay. @throws person_not_found, provider_not_found; invalid_request for the last way in */
export const unlinkIdentity = mutation(
  'users.identities.remove',
  z.strictObject({ ...personFields, provider: z.string() }),
  async (deps, input, act) => {
    const person = await findPerson(deps, input.person, input.account)
    const { name, issuer } = await findIdentityProvider(deps, input.provider)
    await requireAnotherWay(deps, person.id, { issuer })
    const unlinked = act(person.id, { unlinked: name })
    if ((await deps.store.signin.identities.unlink(person.id, issuer, unlinked)) === 0) {
      throw new GatewayError('provider_not_found', `${person.email} does not sign in by ${name}`, {
        hint: `gatewayctl users show ${person.id}`,
      })
    }
    return { ...(await details(deps, person)), unlinked: name }
  },
)

/** By address or by id, of the account that `scope` names; null is anybody. @throws account_not_found, person_not_found */
export async function findPerson(
  deps: OperatorDeps,
  text: string,
  scope: string | null,
): Promise<Person> {
  const { people } = deps.store.signin
  const account = await findScope(deps, scope)
  const person = (await people.findByEmail(text)) ?? (await people.find(text as PersonId))
  if (person !== undefined && (await belongs(deps, person, account))) return person
  if (deps.actor !== undefined) throw notFound(text, [])
  if (person !== undefined) throw await notOf(deps, person, account?.name ?? '')
  const known = await people.list({ limit: MAX_GUESSED, ...statedIn({ accountId: account?.id }) })
  throw notFound(
    text,
    known.map(({ email }) => email),
  )
}

const belongs = async (
  { store }: OperatorDeps,
  { id }: Person,
  account: Account | null,
): Promise<boolean> =>
  account === null || (await store.signin.memberships.find(account.id, id)) !== undefined

async function notOf(deps: OperatorDeps, person: Person, account: string): Promise<GatewayError> {
  const { email, accounts } = await render(deps, person, await accountNames(deps))
  const names = accounts.map((one) => one.account).join(', ')
  const owner = names === '' ? 'no account' : `account ${names}`
  return new GatewayError('person_not_found', `${email} is of ${owner}, not of ${account}`, {
    hint: 'gatewayctl users list',
  })
}

/** Suggestions for a mistyped address come from the latest so many people. */
const MAX_GUESSED = 1000

const notFound = (text: string, known: readonly string[]): GatewayError =>
  new GatewayError('person_not_found', `nobody signs in as "${text}"${suggest(text, known)}`, {
    hint: 'gatewayctl users list',
  })
