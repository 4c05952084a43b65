/**
 * What somebody is invited to. Whoever belongs to no account is in by signing in where one waits; somebody of several, who belongs to one,
 * or is signed in already, is asked.
 */
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { performAs } from '#operator/as-person.ts'
import { accountNameOf } from '#operator/find-account.ts'
import { type Html, html } from '#pages/html.ts'
import type { Invitation } from '#signin/register/invitation.ts'
import type { PersonId } from '#signin/register/person.ts'
import { bareFrame } from '../draw/frame.ts'
import { button, facts, foreign, time } from '../draw/parts.ts'
import { goTo, pageOf } from '../respond.ts'
import { chooseAccount } from '../session.ts'
import type { Guest } from '../visit.ts'

export const INVITATIONS = '/cabinet/invitations'

/** Of their own address alone, and only once it is known to be theirs. */
export const invitationsOf = async ({
  operator,
  person,
  at,
}: Answering): Promise<readonly Invitation[]> =>
  person.isEmailVerified ? operator.store.signin.invitations.toAddress(person.email, at) : []

export async function showInvitations(guest: Guest): Promise<Response> {
  const { deps, words, language, person } = guest
  const pending = await invitationsOf(guest)
  const drawn: Html[] = []
  for (const invitation of pending) drawn.push(await draw(guest, invitation))
  const sheet = {
    title: words.invitations.title,
    content: html`<h1>${words.invitations.title}</h1>
${drawn.length > 0 ? drawn : html`<p class="note">${words.invitations.none(person.email)}</p>`}
${guest.accounts.length > 0 && html`<div class="acts"><a class="button" href="/cabinet">${words.screens.overview}</a></div>`}`,
  }
  return await pageOf(deps, bareFrame(guest, sheet), { language })
}

async function draw(guest: Guest, invitation: Invitation): Promise<Html> {
  const { words, operator } = guest
  const { id, accountId, role, by, expiresAt } = invitation
  const account = await accountNameOf(operator, accountId)
  const hidden = { invitation: id }
  return html`<section class="invitation"><h2>${foreign(account)}</h2>
${facts([
  [words.invitations.by, by === null ? words.nobody.operator : foreign(by)],
  [words.people.role, `${words.roles[role]}: ${words.aboutRoles[role]}`],
  [words.people.until, time(guest, renderInstant(expiresAt))],
])}
<div class="acts">${button(guest, `${INVITATIONS}/accept`, words.invitations.accept, { hidden, style: 'lead-button' })}
${button(guest, `${INVITATIONS}/decline`, words.invitations.decline, { hidden })}</div></section>`
}

/** A second click finds that it was answered, and is shown what there is. */
export const answerInvitation =
  (answer: 'accept' | 'decline') =>
  async (guest: Guest, form: URLSearchParams): Promise<Response> => {
    const { operator, session } = guest
    const invitation = (await invitationsOf(guest)).find(({ id }) => id === form.get('invitation'))
    if (invitation === undefined || !(await give(guest, answer, invitation))) {
      return goTo(INVITATIONS)
    }
    if (answer === 'decline') return goTo(INVITATIONS)
    await chooseAccount(operator.store.signin.artifacts, session, invitation.accountId)
    return goTo('/cabinet')
  }

type Answering = Pick<Guest, 'operator' | 'person' | 'at'>

/** False where it waits no more. */
async function give(
  { operator, person }: Answering,
  answer: 'accept' | 'decline',
  { accountId, role }: Invitation,
): Promise<boolean> {
  const actor = { personId: person.id, email: person.email, accountId, role }
  const answered = { account: accountId, person: person.id }
  try {
    await performAs(operator, actor)(`accounts.members.${answer}`, answered)
    return true
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'person_not_found') return false
    throw thrown
  }
}

/** The only one of somebody who has just signed in and belongs to no account; between several they choose. True where they belong to one now. */
export async function acceptOnly(
  operator: Guest['operator'],
  personId: PersonId,
  at: Instant,
): Promise<boolean> {
  const { people, memberships } = operator.store.signin
  const person = await people.find(personId)
  if (person === undefined || (await memberships.ofPerson(personId)).length > 0) return false
  const [only, ...others] = await invitationsOf({ operator, person, at })
  if (only === undefined || others.length > 0) return false
  return await give({ operator, person, at }, 'accept', only)
}
