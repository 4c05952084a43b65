/** The people of the account, who is invited to it, and an invitation for one more. */
import { GatewayError } from '#domain/errors.ts'
import { mayDo } from '#operator/roles.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { ROLES, type Role } from '#signin/register/membership.ts'
import { type Act, refusedOnPage, type Show } from '../draw/on-page.ts'
import {
  button,
  changing,
  choice,
  facts,
  field,
  foreign,
  type Sheet,
  sentBefore,
  span,
  state,
  table,
  time,
} from '../draw/parts.ts'
import { newToken } from '../once.ts'
import { goTo } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { readDollars } from './dollars.ts'
import { sentenceOf } from './failure.ts'
import { INVITATIONS } from './invitations.ts'

type Member = VerbRecord<'accounts.members.list'>[number]

export const showPeople: Show = async (visit) => drawPeople(visit, null)

async function drawPeople(visit: Visit, problem: GatewayError | null): Promise<Sheet> {
  const { words, act, account, url, role } = visit
  const all = await act('accounts.members.list', { account: account.id })
  return {
    title: words.people.title,
    ...(problem !== null && { status: problem.status }),
    content: html`<h1>${words.people.title}</h1>
${sentBefore(visit)}${saidOf(visit, url.searchParams)}
${problem !== null && html`<p class="problem" role="alert">${problemOf(visit, problem)}</p>`}
${tableOf(
  visit,
  all.filter(({ pending }) => pending === null),
)}
${pendingOf(
  visit,
  all.filter(({ pending }) => pending !== null),
)}
${mayDo(role, 'accounts.members.invite') && html`${inviteOf(visit)}${await allowanceOf(visit)}`}`,
  }
}

function problemOf(visit: Visit, error: GatewayError): string {
  const { words } = visit
  const { metadata, retryAfterSeconds = 0 } = error.details
  if (error.code === 'already_exists') return words.people.isMember
  if (error.code !== 'rate_limit_exceeded') return sentenceOf(visit, error)
  const isOfAccount = metadata?.['limit'] === 'invitations_of_account'
  const wait = span(retryAfterSeconds, words.span)
  return words.people.tooMany(Number(metadata?.['limit_value']), isOfAccount, wait)
}

function saidOf({ words, operator }: Visit, query: URLSearchParams): Html | null {
  const good = (text: string): Html => html`<p class="good" role="status">${text}</p>`
  const email = query.get('invited')
  if (email !== null) {
    const url = `${operator.live?.authUrl ?? ''}${INVITATIONS}`
    return good(
      query.has('mailed')
        ? words.people.invitedMailed(email)
        : words.people.invitedUnmailed(email, url),
    )
  }
  if (query.has('withdrawn')) return good(words.people.withdrawn)
  if (query.has('allowed')) return good(words.people.allowed)
  if (query.has('changed')) return good(words.people.changed)
  return query.has('removed') ? good(words.people.removed) : null
}

function tableOf(visit: Visit, members: readonly Member[]): Html {
  const { words, person, role, account } = visit
  const changes = mayDo(role, 'accounts.members.set-role')
  return table(
    words.people.title,
    [
      {
        title: words.people.email,
        cell: ({ id, email, name }) =>
          html`${foreign(email)}${name === null ? '' : html` <small>${foreign(name)}</small>`}${id === person.id ? html` <small>${words.people.you}</small>` : ''}`,
      },
      {
        title: words.people.role,
        cell: (member) =>
          changes && member.id !== person.id ? roleForm(visit, member) : words.roles[member.role],
      },
      { title: words.people.since, cell: ({ since }) => time(visit, since) },
      { title: words.people.lastSignIn, cell: (member) => lastSignIn(visit, member) },
      {
        title: `(${words.change})`,
        cell: ({ id }) =>
          changes && id !== person.id
            ? html`<a class="keep" href="${hrefOf(`/cabinet/people/${id}/remove`, { account: account.name })}">${words.people.remove}</a>`
            : '',
      },
    ],
    members,
  )
}

const lastSignIn = (visit: Visit, { disabled, last_sign_in_at }: Member): Html => {
  const { words } = visit
  if (disabled) return state('bad', words.people.disabled)
  return last_sign_in_at === null
    ? state('off', words.people.neverSignedIn)
    : time(visit, last_sign_in_at)
}

/** Who is asked, and has not answered. */
function pendingOf(visit: Visit, invited: readonly Member[]): Html | false {
  const { words, role } = visit
  if (invited.length === 0) return false
  const mayInvite = mayDo(role, 'accounts.members.invite')
  return html`<h2>${words.people.pending}</h2>
${table(
  words.people.pending,
  [
    {
      title: words.people.email,
      cell: ({ email, role: asked, pending }) =>
        html`${foreign(email)}<br><small>${words.roles[asked]} · ${words.invitations.by}: ${pending?.by ? foreign(pending.by) : words.nobody.operator}</small>`,
    },
    { title: words.people.sent, cell: ({ pending }) => time(visit, pending?.sent_at ?? null) },
    { title: words.people.until, cell: ({ pending }) => time(visit, pending?.expires_at ?? null) },
    {
      title: `(${words.change})`,
      cell: ({ id }) =>
        mayInvite
          ? html`<span class="inline">${button(visit, `/cabinet/people/${id}/again`, words.people.resend, { hidden: { once: newToken() } })}
${button(visit, `/cabinet/people/${id}/remove`, words.people.withdraw)}</span>`
          : '',
    },
  ],
  invited,
)}`
}

const roleForm = (visit: Visit, { id, role, email }: Member): Html =>
  changing(
    visit,
    `/cabinet/people/${id}/role`,
    html`<span class="inline"><label class="unseen" for="role-${id}">${visit.words.people.role}: ${email}</label>
<select id="role-${id}" name="role">${ROLES.map((one) => html`<option value="${one}"${one === role ? html` selected` : ''}>${visit.words.roles[one]}</option>`)}</select>
<button type="submit">${visit.words.people.change}</button></span>`,
  )

const inviteOf = (visit: Visit): Html => {
  const { words, form } = visit
  return html`<h2>${words.people.invite}</h2>
<p class="note">${words.people.inviteText}</p>
${changing(
  visit,
  '/cabinet/people',
  html`<input type="hidden" name="once" value="${newToken()}">
<div class="fields">
${field('email', words.people.email, { value: form.get('email') ?? '', type: 'email', attributes: html` required maxlength="254" autocomplete="off"` })}
${choice(
  'role',
  words.people.role,
  ROLES.map((role) => [role, words.roles[role]]),
  form.get('role') ?? 'member',
)}
</div>
${facts(ROLES.map((role) => [words.roles[role], words.aboutRoles[role]]))}
<div class="acts"><button class="lead-button" type="submit">${words.people.inviteButton}</button></div>`,
)}`
}

async function allowanceOf(visit: Visit): Promise<Html> {
  const { words, act, account } = visit
  const { member_daily_usd } = await act('accounts.show', { name: account.id })
  return html`<h2>${words.people.memberKeys}</h2>
<p class="note">${words.people.memberDailyHint}</p>
${changing(
  visit,
  '/cabinet/people/allowance',
  html`<div class="fields">${field('member_daily', words.people.memberDaily, { value: member_daily_usd, attributes: html` inputmode="decimal" autocomplete="off"` })}</div>
<div class="acts"><button type="submit">${words.people.save}</button></div>`,
)}`
}

const readRole = (text: string | null): Role => ROLES.find((role) => role === text) ?? 'viewer'

/** What is said above the list, with the form as it was sent. */
const SAID_HERE = ['invalid_request', 'already_exists', 'rate_limit_exceeded'] as const

/** Does it, and goes there; once, however often the form is sent. */
const changed =
  (change: (visit: Visit) => Promise<string>): Act =>
  async (visit, once) => {
    try {
      const address = await once.run(visit, () => change(visit))
      return goTo(address ?? '/cabinet/people?sent=before')
    } catch (thrown) {
      return await refusedOnPage(visit, thrown, SAID_HERE, (problem) => drawPeople(visit, problem))
    }
  }

export const invite = changed((visit) => {
  const { form } = visit
  return send(visit, { email: form.get('email') ?? '', role: readRole(form.get('role')) })
})

export const inviteAgain = changed(async (visit) => {
  const { act, account, named, words } = visit
  const all = await act('accounts.members.list', { account: account.id })
  const one = all.find(({ id, pending }) => id === named['person'] && pending !== null)
  if (one === undefined) throw new GatewayError('person_not_found', words.notFound)
  return await send(visit, one)
})

async function send(
  { act, account, language }: Visit,
  { email, role }: Pick<Member, 'email' | 'role'>,
): Promise<string> {
  const asked = { account: account.id, email, role, language }
  const sent = await act('accounts.members.invite', asked)
  return hrefOf('/cabinet/people', { invited: sent.email, mailed: sent.mailed ? '1' : null })
}

export const setRole = changed(async ({ act, form, account, named }) => {
  const person = named['person'] ?? ''
  await act('accounts.members.set-role', {
    account: account.id,
    person,
    role: readRole(form.get('role')),
  })
  return '/cabinet/people?changed=1'
})

export const setAllowance = changed(async ({ act, form, account }) => {
  const member_daily_usd = readDollars(form.get('member_daily'))
  await act('accounts.edit', { account: account.id, member_daily_usd })
  return '/cabinet/people?allowed=1'
})

export const showRemoval: Show = async (visit) => {
  const { words, act, account, named } = visit
  const members = await act('accounts.members.list', { account: account.id })
  const member = members.find(({ id, pending }) => id === named['person'] && pending === null)
  if (member === undefined) throw new GatewayError('person_not_found', words.notFound)
  return {
    title: words.people.remove,
    content: html`<p class="crumb"><a href="/cabinet/people">${words.people.title}</a></p>
<h1>${words.people.remove}</h1>
<p class="note">${words.people.removeText(member.email, visit.account.name)}</p>
<div class="acts">${button(visit, `/cabinet/people/${member.id}/remove`, words.people.remove, { style: 'danger' })}
<a class="button" href="/cabinet/people">${words.back}</a></div>`,
  }
}

export const removeMember = changed(async ({ act, account, named }) => {
  const person = named['person'] ?? ''
  const { pending } = await act('accounts.members.remove', { account: account.id, person })
  return `/cabinet/people?${pending === null ? 'removed' : 'withdrawn'}=1`
})
