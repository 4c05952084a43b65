/** The page for typing the code from the mail, or requesting another. */
import { describedBy, formOf, type Html, html, named, PROBLEM_ID, problemOf } from '#pages/html.ts'
import type { Sheet } from './layout.ts'
import type { CodeProblem, CodeView } from './view.ts'
import type { Words } from './words.ts'

export function drawCode(view: CodeView, words: Words): Sheet {
  const { code, signIn, errorPrefix } = words
  const { problem } = view
  const title = code.title(view.clientName)
  const needsNewCode = problem?.kind === 'expired' || problem?.kind === 'spent'
  return {
    title: problem ? errorPrefix + title : title,
    content: html`<h1>${needsNewCode ? code.newCodeHeading : code.heading}</h1>
<p class="lead">${signIn.lead(named(view.clientName))}</p>
${needsNewCode || html`<p class="body">${sentToText(view, words)}</p>`}
${view.sentAgain && !problem && html`<p class="notice" id="${NOTICE_ID}" role="status">${code.sentAgain}</p>`}
${problemOf(problem && sentenceFor(problem, words), !needsNewCode)}
${needsNewCode ? newCodeForms(view, words) : codeForms(view, words)}`,
  }
}

const NOTICE_ID = 'notice'

const sentToText = ({ sentTo, email, minutes }: CodeView, { code }: Words): Html =>
  sentTo === 'mail' ? code.sentByMail(named(email), minutes) : code.sentToLog(named(email), minutes)

function codeForms(view: CodeView, { code }: Words): Html {
  const { problem, sentAgain } = view
  const invalid = problem?.kind === 'wrong' || problem?.kind === 'unreadable'
  const attributes = describedBy(problem ? [PROBLEM_ID] : sentAgain ? [NOTICE_ID] : [], invalid)
  const field = html`<label for="code">${code.code}</label>
<input class="code" id="code" type="text" name="code" inputmode="numeric" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="32" required autofocus${attributes}>
${view.script !== undefined && html`<input type="hidden" name="passkeys" value="" data-passkeys>`}
<button class="lead-button" type="submit">${code.submit}</button>`
  const resend = html`<button class="text-button" type="submit">${code.resend}</button>`
  return html`${formOf(view.form, field)}
<div class="links">
${formOf(view.resend, resend)}
${restart(view, code.restart)}
</div>`
}

/** Without the field, because the code is no longer valid. */
function newCodeForms(view: CodeView, { code }: Words): Html {
  const resend = html`<button class="lead-button" type="submit">${code.resend}</button>`
  return html`${formOf(view.resend, resend)}
<div class="links">
${restart(view, code.restart)}
</div>`
}

const restart = (view: CodeView, label: string): Html =>
  formOf(view.restart, html`<button class="text-button" type="submit">${label}</button>`)

function sentenceFor(problem: CodeProblem, { code: { problems } }: Words): string {
  switch (problem.kind) {
    case 'wrong':
      return problems.wrong(problem)
    case 'unreadable':
      return problems.unreadable(problem)
    case 'expired':
      return problems.expired(problem)
    case 'spent':
      return problems.spent(problem)
    case 'too-many-codes':
      return problems['too-many-codes'](problem)
  }
}
