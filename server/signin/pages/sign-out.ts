/** The pages at the end of a session: whether to sign out, and that it is done (OpenID Connect RP-Initiated Logout 1.0). */
import { formOf, type Html, html, named } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { SignedOutView, SignOutView, StayedView } from './view.ts'
import type { Words } from './words.ts'

export function drawSignOut(view: SignOutView, { signOut }: Words): Sheet {
  const { clientName, email } = view
  return {
    title: signOut.heading,
    content: html`<h1>${signOut.heading}</h1>
${clientName !== undefined && html`<p class="lead">${signOut.asked(named(clientName))}</p>`}
${email !== undefined && html`<p class="who">${signOut.signedInAs(named(email))}</p>`}
${formOf(
  view.form,
  html`<button class="lead-button" type="submit" name="logout" value="yes">${signOut.submit}</button>
<button class="quiet-button" type="submit">${signOut.stay}</button>`,
)}`,
  }
}

export function drawSignedOut({ clientName }: SignedOutView, words: Words): Sheet {
  const { heading } = words.signedOut
  return {
    title: heading,
    content: html`<h1>${heading}</h1>
${returnText(clientName, words)}`,
  }
}

export function drawStayed({ clientName, email }: StayedView, words: Words): Sheet {
  const { stayed, signOut } = words
  return {
    title: stayed.heading,
    content: html`<h1>${stayed.heading}</h1>
${returnText(clientName, words)}
<p class="who">${signOut.signedInAs(named(email))}</p>`,
  }
}

const returnText = (clientName: string | undefined, { signedOut }: Words): Html =>
  html`<p class="lead">${
    clientName === undefined ? signedOut.meaning : signedOut.meaningWithClient(named(clientName))
  }</p>`
