/** Verbs for the people of an account: list, add, invite, accept or decline that, change the role, remove. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { type Instant, later, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEventId } from '#domain/id.ts'
import { LANGUAGES, type Language } from '#domain/language.ts'
import { nameField, readAs, textField } from '#forms/fields.ts'
import { maySignUp } from '#signin/register/access.ts'
import { emailKey, readEmail } from '#signin/register/email.ts'
import {
  INVITATION_MAIL_MS,
  INVITATION_MS,
  type Invitation,
  type InvitationRefusal,
  invitationMailName,
  MAX_INVITATIONS,
  newInvitationId,
} from '#signin/register/invitation.ts'
import type { NewMail } from '#signin/register/mail-code.ts'
import { type Membership, ROLES, type Role } from '#signin/register/membership.ts'
import { newPerson, type Person, type PersonId } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount, findOpenAccount } from './find-account.ts'
import { invitationMail } from './invitation-mail.ts'
import { findPerson } from './people.ts'
import { tooOften } from './too-often.ts'
import { mutation, verb } from './verb.ts'

export interface MemberRecord {
  /** The `sub` claim; of the invitation, while it is pending. */
  readonly id: string
  readonly email: string
  readonly name: string | null
  /** The name of the account. */
  readonly account: string
  readonly role: Role
  /** Null for somebody who has not accepted yet. */
  readonly since: string | null
  readonly disabled: boolean
  /** Null for somebody who has not signed in yet. */
  readonly last_sign_in_at: string | null
  /** Of somebody who is invited, and belongs to the account once they accept; null for a member. */
  readonly pending: {
    /** The address of the owner who invited them; null for the operator. */
    readonly by: string | null
    readonly sent_at: string
    readonly expires_at: string
  } | null
}

export interface AddedMemberRecord extends MemberRecord {
  /** Their role before; null for somebody who did not belong to the account. */
  readonly previous_role: Role | null
  /** Whether they were told by mail; `members add` tells nobody who has signed in before. */
  readonly mailed: boolean
  /** Where they sign in; null where neither a running gateway nor `auth_url` says, or it is off. */
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
  last_sign_in_at: renderInstant(person.lastSignInAt),
  pending: null,
})

const renderPending = (
  { id, email, role, by, sentAt, expiresAt }: Invitation,
  account: string,
): MemberRecord => ({
  id,
  email,
  name: null,
  account,
  role,
  since: null,
  disabled: false,
  last_sign_in_at: null,
  pending: { by, sent_at: renderInstant(sentAt), expires_at: renderInstant(expiresAt) },
})

const accountName = z._default(z.string(), DEFAULT_ACCOUNT_NAME)
/** Until the person has chosen one. */
const mailLanguage = z._default(z.enum(LANGUAGES), 'en')
const roleField = z.enum(ROLES, `must be one of ${ROLES.join(', ')}`)

/** Oldest first; behind the members, who is invited. @throws account_not_found */
export const listMembers = verb(
  z.strictObject({ account: accountName }),
  async (deps, input): Promise<readonly MemberRecord[]> => {
    const { memberships, people, invitations } = deps.store.signin
    const account = await findAccount(deps, input.account)
    const records: MemberRecord[] = []
    for (const membership of await memberships.ofAccount(account.id)) {
      const person = await people.find(membership.personId)
      if (person !== undefined) records.push(render(person, membership, account.name))
    }
    const pending = await invitations.ofAccount(account.id, deps.clock.now())
    return [...records, ...pending.map((one) => renderPending(one, account.name))]
  },
)

/**
 * At once, by the operator's hand; changes the role of somebody who is a member already. Who has never signed in is told by mail, again each time.
 * @throws account_not_found, account_closed
 */
export const addMember = mutation(
  'accounts.members.add',
  z.strictObject({
    account: accountName,
    email: readAs(readEmail, 'an e-mail address'),
    role: roleField,
    name: z.optional(nameField),
    language: mailLanguage,
  }),
  async (deps, { email, role, name = null, language, ...input }, act) => {
    const { people, memberships } = deps.store.signin
    const account = await findOpenAccount(deps, input.account)
    const cabinet = await cabinetUrlOf(deps)
    const at = deps.clock.now()
    const known = await people.findByEmail(email)
    const person = known ?? { ...newPerson(email, at), name }
    const membership = { accountId: account.id, personId: person.id, role, since: at }
    const added = act(person.id, { account: account.name })
    const before = await memberships.put(membership, known === undefined ? person : null, added)
    const mail =
      person.lastSignInAt === null
        ? await toMail(deps, {
            account,
            cabinet,
            email,
            role,
            language: person.language ?? language,
            isPending: false,
          })
        : null
    if (mail !== null) {
      const interaction = invitationMailName(account.id, email)
      const expiresAt = later(at, INVITATION_MAIL_MS)
      await deps.store.signin.codeMails.add({ interaction, ...mail, expiresAt }, at)
      deps.live?.wakeMails()
    }
    return {
      ...render(
        person,
        (await memberships.find(account.id, person.id)) ?? membership,
        account.name,
      ),
      previous_role: before,
      mailed: mail !== null,
      cabinet_url: cabinet,
    } satisfies AddedMemberRecord
  },
)

/**
 * Asks somebody to join; it holds once they accept. A later one to the same address replaces it. An owner invites no address that may not sign up.
 * @throws account_not_found, account_closed, invalid_request, already_exists, rate_limit_exceeded
 */
export const inviteMember = mutation(
  'accounts.members.invite',
  z.strictObject({
    account: accountName,
    email: readAs(readEmail, 'an e-mail address'),
    role: roleField,
    language: mailLanguage,
  }),
  async (deps, { email, role, language, ...input }, act) => {
    const { people, memberships, invitations } = deps.store.signin
    const account = await findOpenAccount(deps, input.account)
    const known = await people.findByEmail(email)
    if (known === undefined) requireSignup(deps, email)
    else if ((await memberships.find(account.id, known.id)) !== undefined) {
      const message = `${email} belongs to ${account.name} already: change the role instead`
      throw new GatewayError('already_exists', message, { param: 'email' })
    }
    const cabinet = await cabinetUrlOf(deps)
    const at = deps.clock.now()
    const invitation: Invitation = {
      id: newInvitationId(),
      accountId: account.id,
      email,
      role,
      by: deps.actor?.email ?? null,
      sentAt: at,
      expiresAt: later(at, INVITATION_MS),
    }
    const mail = await toMail(deps, {
      account,
      cabinet,
      email,
      role,
      language: known?.language ?? language,
      isPending: true,
    })
    // Only the id, because the log of acts outlives whoever is removed.
    const sent = act(invitation.id, { account: account.name, role })
    const refused = await invitations.send(invitation, mail, sent)
    if (refused !== null) throw tooMany(refused, at)
    if (mail !== null) deps.live?.wakeMails()
    return {
      ...renderPending(invitation, account.name),
      mailed: mail !== null,
      cabinet_url: cabinet,
    }
  },
)

function tooMany({ of, nextAt }: InvitationRefusal, at: Instant): GatewayError {
  const whose = of === 'address' ? 'to one address' : 'of one account'
  const limit = `invitations_of_${of}`
  return tooOften(`invitations are sent ${whose}`, { limit, most: MAX_INVITATIONS[of], nextAt }, at)
}

const namedMember = { account: accountName, person: textField }

/** @throws account_not_found, account_closed, person_not_found, invalid_request */
export const setRole = mutation(
  'accounts.members.set-role',
  z.strictObject({ ...namedMember, role: roleField }),
  async (deps, { person: text, role, ...input }, act) => {
    const account = await findOpenAccount(deps, input.account)
    const { person, membership } = await findMember(deps, text, account)
    await refuseOwn(deps, account, person)
    const changed = act(person.id, { account: account.name })
    const { memberships } = deps.store.signin
    const expected = { by: deps.actor?.personId ?? null }
    const changedTo = { ...membership, role }
    const previous_role = await memberships.put(changedTo, null, changed, expected)
    return { ...render(person, changedTo, account.name), previous_role }
  },
)

const answered = { account: accountName, person: z.string() }

/** The person belongs to the account from now on. @throws account_not_found, person_not_found */
export const acceptInvitation = mutation(
  'accounts.members.accept',
  z.strictObject(answered),
  async (deps, input, act) => {
    const { account, person, invitation } = await findInvitation(deps, input)
    const joined = act(person.id, { account: account.name, invitation: invitation.id })
    const { invitations } = deps.store.signin
    if (!(await invitations.accept(invitation.id, person.id, joined))) {
      throw noInvitation(person.email, account)
    }
    const joinedAs = { role: invitation.role, since: deps.clock.now() }
    const membership = await deps.store.signin.memberships.find(account.id, person.id)
    return render(person, membership ?? joinedAs, account.name)
  },
)

/** @throws account_not_found, person_not_found */
export const declineInvitation = mutation(
  'accounts.members.decline',
  z.strictObject(answered),
  async (deps, input, act) => {
    const { account, invitation } = await findInvitation(deps, input)
    const declined = act(invitation.id, { account: account.name, declined: true })
    await deps.store.signin.invitations.end(invitation.id, declined)
    return { ...renderPending(invitation, account.name), declined: true }
  },
)

async function findInvitation(deps: OperatorDeps, input: { account: string; person: string }) {
  const account = await findAccount(deps, input.account)
  const { people, invitations } = deps.store.signin
  const person =
    (await people.findByEmail(input.person)) ?? (await people.find(input.person as PersonId))
  if (person === undefined) throw noInvitation(input.person, account)
  const sent = await invitations.toAddress(person.email, deps.clock.now())
  const invitation = sent.find(({ accountId }) => accountId === account.id)
  if (invitation === undefined) throw noInvitation(person.email, account)
  return { account, person, invitation }
}

const noInvitation = (email: string, { name }: Account): GatewayError =>
  new GatewayError('person_not_found', `no invitation of ${name} waits for ${email}`)

/** Their keys stay; an invitation that is pending is withdrawn, with the membership of whoever has both. @throws account_not_found, person_not_found, invalid_request */
export const removeMember = mutation(
  'accounts.members.remove',
  z.strictObject(namedMember),
  async (deps, { person: text, ...input }, act) => {
    const { people, memberships, invitations } = deps.store.signin
    const account = await findAccount(deps, input.account)
    const pending = (await invitations.ofAccount(account.id, deps.clock.now())).find(
      (one) => one.id === text || emailKey(one.email) === emailKey(text),
    )
    const known = await people.findByEmail(text)
    const isMember =
      known !== undefined && (await memberships.find(account.id, known.id)) !== undefined
    if (pending !== undefined && !isMember) {
      await invitations.end(pending.id, act(pending.id, { account: account.name, removed: true }))
      return { ...renderPending(pending, account.name), removed: true }
    }
    const { person, membership } = await findMember(deps, text, account)
    await refuseOwn(deps, account, person)
    const removed = act(person.id, { account: account.name, removed: true })
    await memberships.remove(account.id, person.id, removed, { by: deps.actor?.personId ?? null })
    return { ...render(person, membership, account.name), removed: true }
  },
)

async function findMember(deps: OperatorDeps, text: string, account: Account) {
  const person = await findPerson(deps, text, account.id)
  const membership = await deps.store.signin.memberships.find(account.id, person.id)
  if (membership === undefined) {
    throw new GatewayError('person_not_found', `${person.email} does not belong to ${account.name}`)
  }
  return { person, membership }
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

/** Whoever belongs to an account can enter what is open to everybody: an owner asks those alone whom sign-up would let in. */
function requireSignup({ actor, live }: OperatorDeps, email: string): void {
  if (actor === undefined || maySignUp(live?.signup ?? [], email)) return
  throw new GatewayError(
    'invalid_request',
    `email: ${email} may not sign up (auth_signup): only the operator can add it`,
    { param: 'email', hint: 'gatewayctl users add', metadata: { limit: 'auth_signup' } },
  )
}

const cabinetUrlOf = async ({ live, statedCabinetUrl }: OperatorDeps): Promise<string | null> =>
  (live === null ? await statedCabinetUrl?.() : live.cabinetUrl) ?? null

/** Null where there is no mail server, nothing to invite to, or no master key to seal it with. Whichever gateway of the store runs next sends it. */
async function toMail(
  deps: OperatorDeps,
  facts: {
    readonly account: Account
    readonly cabinet: string | null
    readonly email: string
    readonly role: Role
    readonly language: Language
    readonly isPending: boolean
  },
): Promise<NewMail | null> {
  const { account, cabinet, email, role, language, isPending } = facts
  if (cabinet === null || !deps.delivery.smtp) return null
  const { hasMasterKey } = await deps.store.health({ checkIntegrity: false })
  if (!hasMasterKey) return null
  const by = deps.actor?.email ?? null
  const url = isPending ? `${cabinet}/invitations` : cabinet
  const letter = invitationMail(language, { account: account.name, role, url, by, isPending })
  return { id: newEventId(deps.clock.now()), mail: { to: email, ...letter } }
}
