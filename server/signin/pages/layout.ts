/** The layout of every page, and the parts that several pages share. */
import { html, raw } from 'hono/html'
import type { Language } from '#domain/language.ts'
import { STYLE } from './style.ts'
import type { Form } from './view.ts'
import type { Html } from './words.ts'

/** The title and content of a page, without its layout. */
export interface Sheet {
  readonly title: string
  /** Where the browser navigates to immediately. */
  readonly onwardTo?: string
  readonly content: Html
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke='%2357978a' stroke-width='3.5' stroke-linecap='round'%3E%3Cpath d='M5 28V15a11 11 0 0 1 22 0v13M13 28V16a3 3 0 0 1 6 0v12'/%3E%3C/svg%3E"

/** Renders a sheet in the layout: one main landmark, and below it the host name. */
export function layOut(sheet: Sheet, language: Language, host: string): Html {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${sheet.onwardTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${sheet.onwardTo}">`}
<title>${sheet.title}</title>
<link rel="icon" href="${ICON}">
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<svg class="mark" viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" aria-hidden="true"><path d="M5 28V15a11 11 0 0 1 22 0v13M13 28V16a3 3 0 0 1 6 0v12"/></svg>
${sheet.content}
</main>
<footer>${host}</footer>
</body>
</html>
`
}

/** A name from user input, isolated so that its writing direction affects nothing else. */
export const named = (name: string): Html => html`<strong><bdi>${name}</bdi></strong>`

/** A form with its hidden fields and `content`. */
export const formOf = (
  form: Form,
  content: Html,
): Html => html`<form method="post" action="${form.action}">
${Object.entries(form.hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
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
