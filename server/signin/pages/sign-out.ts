/** The pages at the end of a session: whether to sign out, and that it is done (OpenID Connect RP-Initiated Logout 1.0). */
import { html } from 'hono/html'
import { formOf, named, type Sheet } from './layout.ts'
import type { SignedOutView, SignOutView } from './view.ts'
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

export function drawSignedOut({ clientName }: SignedOutView, { signedOut }: Words): Sheet {
  return {
    title: signedOut.heading,
    content: html`<h1>${signedOut.heading}</h1>
<p class="lead">${
      clientName === undefined ? signedOut.meaning : signedOut.meaningWithClient(named(clientName))
    }</p>`,
  }
}
