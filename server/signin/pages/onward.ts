/** The page between a form and its destination: navigates there by itself, with a link as a fallback. */
import { html } from 'hono/html'
import type { Sheet } from './layout.ts'
import type { OnwardView } from './view.ts'
import type { Words } from './words.ts'

export function drawOnward({ to }: OnwardView, { onward }: Words): Sheet {
  return {
    title: onward.heading,
    onwardTo: to,
    content: html`<h1>${onward.heading}</h1>
<p><a class="lead-button" href="${to}">${onward.link}</a></p>`,
  }
}
