/** What pages are made of: escaped HTML, names from elsewhere, forms and their problems. */

/** HTML that is already escaped, such as a name within a sentence. */
export class Html {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

/** What stands in a template: text is escaped; nothing, and what is true or false, is left out. */
type Part = Html | string | number | boolean | null | undefined | readonly Part[]

/** A template of HTML. Of our own, because a page is many hundred of them: a library that may also wait for each takes four times as long. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = texts[0] ?? ''
  for (let n = 0; n < parts.length; n++) text += textOf(parts[n]) + texts[n + 1]
  return new Html(text)
}

/** What is HTML already, and of ours. */
export const raw = (text: string): Html => new Html(text)

function textOf(part: Part): string {
  if (typeof part === 'string') return SPECIAL.test(part) ? escaped(part) : part
  if (part instanceof Html) return part.toString()
  if (typeof part === 'number') return String(part)
  if (typeof part !== 'object' || part === null) return ''
  let text = ''
  for (const one of part) text += textOf(one)
  return text
}

const SPECIAL = /[&<>"']/

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

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
