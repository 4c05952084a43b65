/** The sign-in page: by e-mail address, or by a third party. */
import {
  describedBy,
  type Form,
  formOf,
  type Html,
  html,
  named,
  PROBLEM_ID,
  problemOf,
} from '#pages/html.ts'
import { passkeyForm } from '#pages/passkeys.ts'
import type { Sheet } from './layout.ts'
import { MARKS } from './marks.ts'
import { isPasskeyProblem, passkeySentence } from './passkey.ts'
import type { IdentityChoice, SignInProblem, SignInView } from './view.ts'
import type { Words } from './words.ts'

export function drawSignIn(view: SignInView, words: Words): Sheet {
  const { signIn, errorPrefix } = words
  const { form } = view
  const [problem, notice] = isNotice(view.problem) ? [undefined, view.problem] : [view.problem]
  const title = signIn.title(view.clientName)
  const byEmail = form && emailForm(view, form, words)
  return {
    title: problem ? errorPrefix + title : title,
    content: html`<h1>${signIn.heading}</h1>
<p class="lead">${signIn.lead(named(view.clientName))}</p>
${notice && html`<p class="notice" id="${PROBLEM_ID}" role="status">${sentenceFor(notice, words)}</p>`}
${problemOf(problem && sentenceFor(problem, words), form !== undefined)}
${form === undefined && view.identities.length === 0 && html`<p class="body">${signIn.noMethod}</p>`}
${view.current && currentForm(view.current, words)}
${byEmail}
${byEmail && otherWays(view, words)}
${view.passkey && passkeyOf(view.passkey, words)}
${identityForms(view.identities, words)}`,
  }
}

/** Between the address and the other ways; with passkeys alone it is there when they are. */
function otherWays({ identities, passkey }: SignInView, { signIn }: Words): Html | false {
  if (identities.length > 0) return html`<p class="or">${signIn.or}</p>`
  return passkey !== undefined && html`<p class="or" data-with-passkeys hidden>${signIn.or}</p>`
}

const passkeyOf = (
  { form, options }: NonNullable<SignInView['passkey']>,
  { signIn, passkey }: Words,
): Html =>
  passkeyForm({
    form,
    options,
    does: 'wait',
    label: signIn.passkey,
    style: 'quiet-button',
    failed: passkey.failed,
  })

/** Problems that are instructions rather than errors. */
const isNotice = (problem: SignInProblem | undefined): problem is Notice =>
  problem?.kind === 'identity-unproved'

type Notice = Extract<SignInProblem, { kind: 'identity-unproved' }>

const HINT_ID = 'email-hint'

/** Without the browser's validation: Chromium rejects addresses with a non-ASCII local part. */
function emailForm({ email, problem, passkey }: SignInView, form: Form, { signIn }: Words): Html {
  const ids = problem ? [PROBLEM_ID, HINT_ID] : [HINT_ID]
  const attributes = describedBy(ids, problem?.kind === 'unreadable')
  return formOf(
    form,
    html`<label for="email">${signIn.email}</label>
<input id="email" type="email" name="email" value="${email ?? ''}" maxlength="254" autocomplete="email${passkey && ' webauthn'}" spellcheck="false" required autofocus${attributes}>
<p class="hint" id="${HINT_ID}">${signIn.emailHint}</p>
<button class="lead-button" type="submit" formnovalidate>${signIn.submit}</button>`,
  )
}

const currentForm = ({ email, form }: Current, { signIn }: Words): Html =>
  html`${formOf(form, html`<button class="lead-button" type="submit">${signIn.continueAs(html`<bdi>${email}</bdi>`)}</button>`)}
<p class="or">${signIn.or}</p>`

type Current = NonNullable<SignInView['current']>

const identityForms = (identities: readonly IdentityChoice[], { signIn }: Words): readonly Html[] =>
  identities.map(({ name, mark, form }) =>
    formOf(
      form,
      html`<button class="quiet-button" type="submit">${mark && MARKS[mark]}${signIn.identity(name)}</button>`,
    ),
  )

function sentenceFor(problem: SignInProblem, words: Words): string {
  const { problems } = words.signIn
  if (isPasskeyProblem(problem)) return passkeySentence(problem, words)
  switch (problem.kind) {
    case 'unreadable':
      return problems.unreadable(problem)
    case 'too-many-codes':
      return problems['too-many-codes'](problem)
    case 'identity-refused':
      return problems['identity-refused'](problem)
    case 'identity-failed':
      return problems['identity-failed'](problem)
    case 'identity-unproved':
      return problems['identity-unproved'](problem)
    case 'identity-unknown':
      return problems['identity-unknown'](problem)
    case 'identity-gone':
      return problems['identity-gone'](problem)
  }
}
