/** What is said where nothing else can be: an error, another's screen, nobody's account. */

import type { GatewayError } from '#domain/errors.ts'
import { limitNamed } from '#domain/limits.ts'
import { html } from '#pages/html.ts'
import type { Sheet } from '../draw/parts.ts'
import type { Guest, Visit } from '../visit.ts'
import type { Words } from '../words/en.ts'

export const drawProblem = (words: Words, sentence: string): Sheet => ({
  title: words.failure,
  content: html`<h1>${words.failure}</h1>
<p class="note">${sentence}</p>
<div class="acts"><a class="button" href="/cabinet">${words.screens.overview}</a></div>`,
})

/** For who left a page open until the session was idle for too long. */
export const drawEnded = ({ ended }: Words): Sheet => ({
  title: ended.title,
  content: html`<h1>${ended.title}</h1>
<p class="note">${ended.text}</p>
<div class="acts"><a class="button lead-button" href="/cabinet">${ended.signIn}</a></div>`,
})

/** An error of a verb; `isOfRole`: the person's role may not do it at all. */
export function drawFailure(visit: Visit, error: GatewayError, isOfRole: boolean): Sheet {
  const { words } = visit
  const sentence = isOfRole
    ? words.notYours(words.roles[visit.role], words.askOwner)
    : sentenceOf(visit, error)
  return { ...drawProblem(words, sentence), status: error.status }
}

/** In the language of the page: why, by its code; of a form, which field, and what it takes. */
export function sentenceOf({ words }: Pick<Visit, 'words'>, error: GatewayError): string {
  const { code, message, details } = error
  if (code !== 'invalid_request') return words.codes[code]
  const { param = '', metadata } = details
  if (metadata?.['limit'] === 'member_daily_usd') {
    return words.keys.memberHint(String(metadata['limit_value']))
  }
  if (metadata?.['limit'] === 'auth_signup') return words.people.noSignup
  const [field = ''] = param.split('.')
  const taken = words.takes[field] ?? words.takes[limitNamed(field)?.unit ?? '']
  const label = labelsOf(words)[field]
  if (taken?.endsWith('.')) return taken
  if (label === undefined) return words.codes.invalid_request
  // Our own words follow the name of the field.
  return taken ? `${label}: ${taken}.` : `${label} ${message.slice(`${param}: `.length)}.`
}

/** The fields of forms, as their labels call them. */
const labelsOf = (words: Words): Readonly<Record<string, string>> => ({
  ...words.keys.fields,
  name: words.keys.name,
  note: words.keys.note,
  grace_seconds: words.keys.grace,
  member_daily_usd: words.people.memberDaily,
  threshold_usd: words.balance.below,
  email: words.balance.email,
  webhook_url: words.balance.webhook,
  role: words.people.role,
  language: words.you.language,
})

/** For somebody who belongs to no account: whom to ask. */
export const drawNobody = ({ words, person, deps }: Guest): Sheet => ({
  title: words.nobody.title,
  content: html`<h1>${words.nobody.title}</h1>
<p class="note">${words.nobody.text(person.email, deps.contact ?? words.nobody.operator)}</p>`,
})
