/** The pages for a passkey after a code: to show one, or to add the first. */
import { formOf, type Html, html, named, problemOf } from '#pages/html.ts'
import { passkeyForm } from '#pages/passkeys.ts'
import type { Sheet } from './layout.ts'
import type { NewPasskeyView, PasskeyProblem, PasskeyView, SignInProblem } from './view.ts'
import type { Words } from './words.ts'

export function drawPasskey(view: PasskeyView, words: Words): Sheet {
  const { passkey, errorPrefix, signIn } = words
  const title = passkey.title(view.clientName)
  return {
    title: view.problem ? errorPrefix + title : title,
    content: html`<h1>${passkey.heading}</h1>
<p class="lead">${signIn.lead(named(view.clientName))}</p>
<p class="body">${passkey.meaning(named(view.email))}</p>
${problemOf(view.problem && passkeySentence(view.problem, words), false)}
${missingOf(words)}
${passkeyForm({
  ...view.passkey,
  does: 'use',
  label: passkey.submit,
  style: 'lead-button',
  failed: passkey.failed,
})}
<div class="links">
${restartOf(view.restart, words)}
</div>`,
  }
}

export function drawNewPasskey(view: NewPasskeyView, words: Words): Sheet {
  const { passkey, newPasskey, errorPrefix } = words
  const { way } = view
  const isOffer = 'skip' in way
  const heading = isOffer ? newPasskey.heading : newPasskey.requiredHeading
  const meaning = isOffer ? newPasskey.meaning : newPasskey.requiredMeaning
  return {
    title: view.problem ? errorPrefix + heading : heading,
    content: html`<h1>${heading}</h1>
<p class="body">${meaning}</p>
<p class="who">${words.signOut.signedInAs(named(view.email))}</p>
${problemOf(view.problem && passkeySentence(view.problem, words), false)}
${missingOf(words)}
${passkeyForm({
  ...view.passkey,
  does: 'add',
  label: newPasskey.submit,
  style: 'lead-button',
  failed: passkey.failed,
  known: newPasskey.known,
})}
${
  isOffer
    ? formOf(way.skip, html`<button class="quiet-button" type="submit">${newPasskey.skip}</button>`)
    : html`<div class="links">
${restartOf(way.restart, words)}
</div>`
}`,
  }
}

const missingOf = ({ passkey: { missing } }: Words): Html =>
  html`<noscript><p class="problem">${missing}</p></noscript>
<p class="problem" data-without-passkeys hidden>${missing}</p>`

const restartOf = (restart: PasskeyView['restart'], { passkey }: Words): Html =>
  formOf(restart, html`<button class="text-button" type="submit">${passkey.restart}</button>`)

export const isPasskeyProblem = (problem: SignInProblem): problem is PasskeyProblem =>
  problem.kind.startsWith('passkey-')

export function passkeySentence(
  problem: PasskeyProblem,
  { passkey: { problems } }: Pick<Words, 'passkey'>,
): string {
  switch (problem.kind) {
    case 'passkey-gone':
      return problems['passkey-gone'](problem)
    case 'passkey-refused':
      return problems['passkey-refused'](problem)
    case 'passkey-known':
      return problems['passkey-known'](problem)
    case 'passkey-too-many':
      return problems['passkey-too-many'](problem)
  }
}
