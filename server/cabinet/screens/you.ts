/** The person's own: language, sessions, passkeys, linked sign-ins, applications with access. */
import { LANGUAGES } from '#domain/language.ts'
import { browserName } from '#pages/browser-name.ts'
import { type Html, html } from '#pages/html.ts'
import type { Act, Show } from '../draw/on-page.ts'
import { button, changing, choice, facts, foreign, table, time } from '../draw/parts.ts'
import { goTo } from '../respond.ts'
import type { Visit } from '../visit.ts'
import { identitiesOf, saidOfLink } from './identities.ts'
import { INVITATIONS, invitationsOf } from './invitations.ts'
import { passkeysOf, saidOfPasskey } from './passkeys.ts'

export const showYou: Show = async (visit) => {
  const { words, act, person } = visit
  const you = await act('users.show', { person: person.id })
  return {
    title: words.you.title,
    content: html`<h1>${words.you.title}</h1>
${(await invitationsOf(visit)).length > 0 && html`<p class="good">${words.invitations.pending} <a href="${INVITATIONS}">${words.invitations.look}</a></p>`}
${saidOfLink(visit)}
${saidOfPasskey(visit)}
${facts([
  [words.you.email, foreign(you.email)],
  [words.you.name, you.name === null ? null : foreign(you.name)],
  ...visit.accounts.map(
    ({ account, role }) =>
      [words.account, html`${foreign(account.name)} · ${words.roles[role]}`] as const,
  ),
])}
${changing(
  visit,
  '/cabinet/you/language',
  html`<div class="fields">${choice(
    'language',
    words.you.language,
    LANGUAGES.map((one) => [one, words.you.languages[one] ?? one]),
    visit.language,
  )}</div>
<div class="acts"><button type="submit">${words.you.save}</button></div>`,
)}
${await sessionsOf(visit)}
${await passkeysOf(visit, you.passkeys)}
${await identitiesOf(visit, you.identities)}
${await accessOf(visit)}`,
  }
}

async function sessionsOf(visit: Visit): Promise<Html> {
  const { words, act, person, session } = visit
  const sessions = await act('users.sessions.list', { person: person.id })
  return html`<h2>${words.you.sessions}</h2>
${table(
  words.you.sessions,
  [
    {
      title: words.you.browser,
      cell: ({ id, browser }) =>
        html`${browserOf(browser)}${id === session.uid ? html` <small>${words.you.this}</small>` : ''}`,
    },
    { title: words.you.place, cell: ({ address }) => address ?? '–' },
    { title: words.you.begun, cell: ({ began_at }) => time(visit, began_at) },
    { title: words.you.seen, cell: ({ seen_at }) => time(visit, seen_at) },
    {
      title: `(${words.change})`,
      cell: ({ id }) =>
        button(visit, '/cabinet/you/sessions', words.you.end, { hidden: { session: id } }),
    },
  ],
  sessions,
)}
<div class="acts">${button(visit, '/cabinet/you/sessions/all', words.you.endAll)}</div>`
}

/** "Firefox, Linux"; what it calls itself where it is unknown. */
const browserOf = (agent: string | null): Html | string =>
  agent === null ? '–' : (browserName(agent) ?? foreign(agent.slice(0, 60)))

async function accessOf(visit: Visit): Promise<Html> {
  const { words, act, person } = visit
  const access = await act('users.access.list', { person: person.id })
  if (access.length === 0) {
    return html`<h2>${words.you.applications}</h2><p class="note">${words.you.noApplications}</p>`
  }
  return html`<h2>${words.you.applications}</h2>
${table(
  words.you.applications,
  [
    { title: words.you.application, cell: ({ client_name }) => foreign(client_name) },
    { title: words.you.scopes, cell: ({ scopes }) => html`<code>${scopes.join(' ')}</code>` },
    { title: words.you.granted, cell: ({ expires_at }) => time(visit, expires_at) },
    {
      title: `(${words.change})`,
      cell: ({ id }) =>
        button(visit, '/cabinet/you/access', words.you.withdraw, { hidden: { access: id } }),
    },
  ],
  access,
)}`
}

export const chooseLanguage: Act = async ({ act, form, person }) => {
  const language = LANGUAGES.find((one) => one === form.get('language')) ?? 'en'
  await act('users.language', { person: person.id, language })
  return goTo('/cabinet/you')
}

export const endOneSession: Act = async ({ act, form, person }) => {
  await act('users.sessions.end', { person: person.id, session: form.get('session') ?? '' })
  return goTo('/cabinet/you')
}

export const endAllSessions: Act = async ({ act, person }) => {
  await act('users.sessions.revoke', { person: person.id })
  return goTo('/cabinet')
}

export const withdrawAccess: Act = async ({ act, form, person }) => {
  await act('users.access.withdraw', { person: person.id, access: form.get('access') ?? '' })
  return goTo('/cabinet/you')
}
