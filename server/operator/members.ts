/** Verbs for the people of an account: list, add or invite, change the role, remove. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { DAY_MS, later, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEventId } from '#domain/id.ts'
import { LANGUAGES, type Language } from '#domain/language.ts'
import { nameField, readAs } from '#forms/fields.ts'
import { maySignUp } from '#signin/register/access.ts'
import { readEmail } from '#signin/register/email.ts'
import { type Membership, ROLES, type Role } from '#signin/register/membership.ts'
import { newPerson, type Person } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { invitationMail } from './invitation-mail.ts'
import { findPerson } from './people.ts'
import { mutation, verb } from './verb.ts'

export interface MemberRecord {
  /** The `sub` claim. */
  readonly id: string
  readonly email: string
  readonly name: string | null
  /** The name of the account. */
  readonly account: string
  readonly role: Role
  readonly since: string
  readonly disabled: boolean
  /** Null for somebody who was invited and has not signed in yet. */
  readonly last_sign_in_at: string | null
}

export interface AddedMemberRecord extends MemberRecord {
  /** Their role before; null for somebody who did not belong to the account. */
  readonly previous_role: Role | null
  /** Whether an invitation was mailed; always false for somebody who has signed in before. */
  readonly mailed: boolean
  /** Where they sign in; null while no server runs. */
  readonly cabinet_url: string | null
}

const render = (
  person: Person,
  { role, since }: Pick<Membership, 'role' | 'since'>,
  account: string,
): MemberRecord => ({
  id: person.id,
  email: person.email,
  name: person.name,
  account,
  role,
  since: renderInstant(since),
  disabled: person.disabledAt !== null,
  last_sign_in_at: person.lastSignInAt === null ? null : renderInstant(person.lastSignInAt),
})

const accountName = z._default(z.string(), DEFAULT_ACCOUNT_NAME)
const roleField = z.enum(ROLES, `must be one of ${ROLES.join(', ')}`)

/** Oldest first. @throws account_not_found */
export const listMembers = verb(
  z.strictObject({ account: accountName }),
  async (deps, input): Promise<readonly MemberRecord[]> => {
    const { memberships, people } = deps.store.signin
    const account = await findAccount(deps, input.account)
    const records: MemberRecord[] = []
    for (const membership of await memberships.ofAccount(account.id)) {
      const person = await people.find(membership.personId)
      if (person !== undefined) records.push(render(person, membership, account.name))
    }
    return records
  },
)

/**
 * Changes the role of somebody who is a member already. An owner adds no address that may not sign up. Who has never signed in is sent an invitation, again each time.
 * @throws account_not_found, invalid_request
 */
export const addMember = mutation(
  'accounts.members.add',
  z.strictObject({
    account: accountName,
    email: readAs(readEmail, 'an e-mail address'),
    role: roleField,
    name: z.optional(nameField),
    /** Of the invitation. */
    language: z._default(z.enum(LANGUAGES), 'en'),
  }),
  async (deps, { email, role, name = null, language, ...input }, act) => {
    const { people, memberships } = deps.store.signin
    const account = await findAccount(deps, input.account)
    const at = deps.clock.now()
    const known = await people.findByEmail(email)
    if (known === undefined) requireSignup(deps, email)
    const person = known ?? { ...newPerson(email, at), name }
    await refuseOwn(deps, account, person)
    const membership = { accountId: account.id, personId: person.id, role, since: at }
    const added = act(person.id, { account: account.name })
    const before = await memberships.put(membership, known === undefined ? person : null, added)
    const mailed = await invite(deps, { account, person, role, language })
    return {
      ...render(
        person,
        (await memberships.find(account.id, person.id)) ?? membership,
        account.name,
      ),
      previous_role: before,
      mailed,
      cabinet_url: cabinetUrl(deps),
    } satisfies AddedMemberRecord
  },
)

const namedMember = { account: accountName, person: z.string().check(z.minLength(1)) }

/** @throws account_not_found, person_not_found, invalid_request */
export const setRole = mutation(
  'accounts.members.set-role',
  z.strictObject({ ...namedMember, role: roleField }),
  async (deps, { person: text, role, ...input }, act) => {
    const { account, person, membership } = await findMember(deps, text, input.account)
    await refuseOwn(deps, account, person)
    const changed = act(person.id, { account: account.name })
    const previous_role = await deps.store.signin.memberships.put(
      { ...membership, role },
      null,
      changed,
    )
    return { ...render(person, { ...membership, role }, account.name), previous_role }
  },
)

/** Their keys stay. @throws account_not_found, person_not_found, invalid_request */
export const removeMember = mutation(
  'accounts.members.remove',
  z.strictObject(namedMember),
  async (deps, { person: text, ...input }, act) => {
    const { account, person, membership } = await findMember(deps, text, input.account)
    await refuseOwn(deps, account, person)
    const removed = act(person.id, { account: account.name, removed: true })
    await deps.store.signin.memberships.remove(account.id, person.id, removed)
    return { ...render(person, membership, account.name), removed: true }
  },
)

async function findMember(deps: OperatorDeps, text: string, accountName: string) {
  const account = await findAccount(deps, accountName)
  const person = await findPerson(deps, text, account.id)
  const membership = await deps.store.signin.memberships.find(account.id, person.id)
  if (membership === undefined) {
    throw new GatewayError('person_not_found', `${person.email} does not belong to ${account.name}`)
  }
  return { account, person, membership }
}

/** An owner leaves an account only by another's hand, so that it always keeps one. */
async function refuseOwn({ actor }: OperatorDeps, account: Account, { id }: Person): Promise<void> {
  if (actor?.personId !== id) return
  throw new GatewayError(
    'invalid_request',
    `nobody changes their own role: another owner of ${account.name} can`,
    { param: 'person' },
  )
}

/** Whoever is added can enter what is open to everybody: an owner adds those alone whom sign-up would let in. */
function requireSignup({ actor, live }: OperatorDeps, email: string): void {
  if (actor === undefined || maySignUp(live?.signup ?? [], email)) return
  throw new GatewayError(
    'invalid_request',
    `email: ${email} may not sign up (auth_signup): only the operator can add it`,
    { param: 'email', hint: 'gatewayctl users add', metadata: { limit: 'auth_signup' } },
  )
}

const cabinetUrl = ({ live }: OperatorDeps): string | null => live?.cabinetUrl ?? null

/** A mail server is tried for so long. */
const INVITATION_MS = DAY_MS

/** False for somebody who knows the way, and where there is no mail server or nothing to invite to. */
async function invite(
  deps: OperatorDeps,
  facts: {
    readonly account: Account
    readonly person: Person
    readonly role: Role
    readonly language: Language
  },
): Promise<boolean> {
  const { account, person, role, language } = facts
  const url = cabinetUrl(deps)
  if (person.lastSignInAt !== null || url === null || !deps.delivery.smtp) return false
  const at = deps.clock.now()
  const letter = invitationMail(person.language ?? language, {
    account: account.name,
    role,
    url,
    by: deps.actor?.email ?? null,
  })
  await deps.store.signin.codeMails.add(
    {
      interaction: `invitation ${account.id} ${person.id}`,
      id: newEventId(at),
      mail: { to: person.email, ...letter },
      expiresAt: later(at, INVITATION_MS),
    },
    at,
  )
  deps.live?.wakeMails()
  return true
}
