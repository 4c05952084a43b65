/** The pages between a form and its destination: they go there by themselves, with a link or a button as a fallback. */
import { ASSETS, asset } from '#pages/assets.ts'
import { formOf, html } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { OnwardView, PostedView } from './view.ts'
import type { Words } from './words.ts'

export function drawOnward({ to }: OnwardView, { onward }: Words): Sheet {
  return {
    title: onward.heading,
    onwardTo: to,
    content: html`<h1>${onward.heading}</h1>
<p><a class="lead-button" href="${to}">${onward.link}</a></p>`,
  }
}

export const POST_SCRIPT = asset(ASSETS, 'post', 'js', 'document.forms[0].submit()')

export const drawPosted = ({ form }: PostedView, { onward }: Words): Sheet => ({
  title: onward.heading,
  content: html`<h1>${onward.heading}</h1>
${formOf(form, html`<button class="lead-button" type="submit">${onward.link}</button>`)}`,
})
