/** The consent page. No button has the focus, so that a held key cannot decide. */
import { formOf, type Html, html, named } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { ConsentView } from './view.ts'
import type { KnownScope, Words } from './words.ts'

export function drawConsent(view: ConsentView, { consent }: Words): Sheet {
  return {
    title: consent.title(view.clientName),
    content: html`<h1>${consent.heading(html`<bdi>${view.clientName}</bdi>`)}</h1>
<p class="body" id="scopes">${consent.lead}</p>
<ul class="scopes" aria-labelledby="scopes">
${view.scopes.map((scope) => html`<li>${describeScope(scope, consent)}</li>`)}
</ul>
<p class="who">${consent.signedInAs(named(view.email))}</p>
${formOf(
  view.form,
  html`<button class="lead-button" type="submit" name="decision" value="allow">${consent.allow}</button>
<button class="quiet-button" type="submit" name="decision" value="deny">${consent.deny}</button>`,
)}`,
  }
}

const describeScope = (scope: string, { scopes, otherScope }: Words['consent']): Html | string =>
  isKnown(scope, scopes) ? scopes[scope] : otherScope(html`<code><bdi>${scope}</bdi></code>`)

const isKnown = (
  scope: string,
  scopes: Readonly<Record<KnownScope, string>>,
): scope is KnownScope => Object.hasOwn(scopes, scope)
