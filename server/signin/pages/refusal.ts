/** The pages for disabled people, for those who may not enter an application, and for errors. None redirects. */
import { formOf, type Html, html, named } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { DisabledView, ErrorView, NotAllowedView } from './view.ts'
import type { Words } from './words.ts'

export function drawDisabled(view: DisabledView, { disabled }: Words): Sheet {
  const again = html`<button class="quiet-button" type="submit">${disabled.restart}</button>`
  return {
    title: disabled.heading,
    content: html`<h1>${disabled.heading}</h1>
<p class="body">${disabled.meaning(named(view.email))}</p>
${view.restart && formOf(view.restart, again)}`,
  }
}

export function drawNotAllowed(view: NotAllowedView, { notAllowed: words }: Words): Sheet {
  const { clientName, email, isUnproved = false, contact, leave, restart } = view
  const client = html`<bdi>${clientName}</bdi>`
  return {
    title: words.title(clientName),
    content: html`<h1>${words.heading(client)}</h1>
${email !== undefined && html`<p class="body">${(isUnproved ? words.unproved : words.meaning)(named(email))}</p>`}
${!isUnproved && html`<p class="body">${contact === undefined ? words.askOperator : words.ask(named(contact))}</p>`}
${formOf(restart, html`<button class="lead-button" type="submit">${isUnproved ? words.prove : words.restart}</button>`)}
${formOf(leave, html`<button class="quiet-button" type="submit">${words.leave(client)}</button>`)}`,
  }
}

export function drawError(view: ErrorView, words: Words): Sheet {
  const { heading, meaning } = words.errors[view.kind]
  return {
    title: words.errorPrefix + heading,
    content: html`<h1>${heading}</h1>
<p class="body">${meaning}</p>
${detailsOf(view, words)}`,
  }
}

function detailsOf(view: ErrorView, words: Words): Html {
  const { code, detail, errorId } = view
  if (code === undefined && detail === undefined && errorId === undefined) return html``
  return html`<dl>
${detailOf(view, words)}
${idOf(view, words)}
</dl>`
}

const idOf = ({ errorId: id }: ErrorView, { errorId, errorIdUse }: Words): Html =>
  id === undefined
    ? html``
    : html`<dt>${errorId}</dt>
<dd><code>${id}</code> <small>${errorIdUse}</small></dd>`

function detailOf({ code, detail }: ErrorView, { errorDetail }: Words): Html {
  if (code === undefined && detail === undefined) return html``
  return html`<dt>${errorDetail}</dt>
<dd>${code !== undefined && html`<code>${code}</code>`}${code !== undefined && detail !== undefined && ' '}${detail !== undefined && html`<small lang="en">${detail}</small>`}</dd>`
}
