/** What is said where nothing else can be: an error, another's screen, nobody's account. */
import { html } from 'hono/html'
import type { GatewayError } from '#domain/errors.ts'
import type { Sheet } from '../draw/parts.ts'
import type { Guest, Visit } from '../visit.ts'
import type { Words } from '../words/en.ts'

export const drawProblem = (words: Words, sentence: string): Sheet => ({
  title: words.failure,
  content: html`<h1>${words.failure}</h1>
<p class="note">${sentence}</p>
<div class="acts"><a class="button" href="/cabinet">${words.screens.overview}</a></div>`,
})

/** An error of a verb; `isOfRole`: the person's role may not do it at all. */
export function drawFailure(visit: Visit, error: GatewayError, isOfRole: boolean): Sheet {
  const { words } = visit
  const sentence = isOfRole
    ? words.notYours(words.roles[visit.role], words.askOwner)
    : sentenceOf(visit, error)
  return { ...drawProblem(words, sentence), status: error.status }
}

/** In the language of the page where it has words for it; the verb's own name the value and the way out. */
export const sentenceOf = (
  { words }: Pick<Visit, 'words'>,
  { code, message }: GatewayError,
): string => words.problems[code] ?? message

/** For somebody who belongs to no account: whom to ask. */
export const drawNobody = ({ words, person, deps }: Guest): Sheet => ({
  title: words.nobody.title,
  content: html`<h1>${words.nobody.title}</h1>
<p class="note">${words.nobody.text(person.email, deps.contact ?? words.nobody.operator)}</p>`,
})
