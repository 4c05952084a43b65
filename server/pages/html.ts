/** What pages are made of: escaped HTML, names from elsewhere, forms and their problems. */
import { html } from 'hono/html'

/** HTML that is already escaped, such as a name within a sentence. */
export type Html = ReturnType<typeof html>

/** Where a form posts, and its hidden fields, such as a CSRF token. */
export interface Form {
  /** A path of the listener, such as `/sign-in/abc/code`. */
  readonly action: string
  /** Name → value of each hidden field. */
  readonly hidden: Readonly<Record<string, string>>
}

/** A name from user input, isolated so that its writing direction affects nothing else. */
export const named = (name: string): Html => html`<strong><bdi>${name}</bdi></strong>`

/** The hidden fields of a form. */
export const hiddenOf = ({ hidden }: Form): readonly Html[] =>
  Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )

/** A form with its hidden fields and `content`. */
export const formOf = (
  form: Form,
  content: Html,
): Html => html`<form method="post" action="${form.action}">
${hiddenOf(form)}
${content}
</form>`

/** The id of `problemOf`, for a field's `aria-describedby`. */
export const PROBLEM_ID = 'problem'

/** An error message. Screen readers read it as the description of the focused field, or as an alert if there is no field. */
export function problemOf(sentence: string | undefined, hasField: boolean): Html {
  if (sentence === undefined) return html``
  return hasField
    ? html`<p class="problem" id="${PROBLEM_ID}">${sentence}</p>`
    : html`<p class="problem" id="${PROBLEM_ID}" role="alert">${sentence}</p>`
}

/** A field's ARIA attributes: its description, and whether its value is invalid. */
export function describedBy(ids: readonly string[], invalid: boolean): Html {
  const description = ids.length > 0 ? html` aria-describedby="${ids.join(' ')}"` : html``
  return invalid ? html`${description} aria-invalid="true"` : description
}

/** The icon of every page. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke='%2357978a' stroke-width='3.5' stroke-linecap='round'%3E%3Cpath d='M5 28V15a11 11 0 0 1 22 0v13M13 28V16a3 3 0 0 1 6 0v12'/%3E%3C/svg%3E"

/** The same, within a page. */
export const MARK = html`<svg class="mark" viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" aria-hidden="true"><path d="M5 28V15a11 11 0 0 1 22 0v13M13 28V16a3 3 0 0 1 6 0v12"/></svg>`
