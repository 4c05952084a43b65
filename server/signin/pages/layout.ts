/** The one card that every page is, and the pieces that more than one page is made of. */
import { html, raw } from 'hono/html'
import type { Language } from './language.ts'
import { STYLE } from './style.ts'
import type { Form } from './view.ts'
import type { Html } from './words.ts'

/** A page without its frame: how the window is called, and what the card holds. */
export interface Sheet {
  readonly title: string
  /** Where the browser goes by itself, at once. */
  readonly onwardTo?: string
  readonly content: Html
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke='%2357978a' stroke-width='3.5' stroke-linecap='round'%3E%3Cpath d='M5 28V15a11 11 0 0 1 22 0v13M13 28V16a3 3 0 0 1 6 0v12'/%3E%3C/svg%3E"

/** Frames a sheet: one main landmark, and below it at which host the reader is. */
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

/** A name somebody chose: set apart, so that its writing direction turns nothing else around. */
export const named = (name: string): Html => html`<strong><bdi>${name}</bdi></strong>`

/** A form that posts what it hides and what `content` holds. */
export const formOf = (
  form: Form,
  content: Html,
): Html => html`<form method="post" action="${form.action}">
${Object.entries(form.hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${content}
</form>`

/** The id by which a field says that `problemOf` describes it. */
export const PROBLEM_ID = 'problem'

/** What is wrong. A field in focus reads it out as its description; with no field, it speaks up itself. */
export function problemOf(sentence: string | undefined, hasField: boolean): Html {
  if (sentence === undefined) return html``
  return hasField
    ? html`<p class="problem" id="${PROBLEM_ID}">${sentence}</p>`
    : html`<p class="problem" id="${PROBLEM_ID}" role="alert">${sentence}</p>`
}

/** The attributes by which a field points at what describes it, and says whether its content is the problem. */
export function describedBy(ids: readonly string[], invalid: boolean): Html {
  const description = ids.length > 0 ? html` aria-describedby="${ids.join(' ')}"` : html``
  return invalid ? html`${description} aria-invalid="true"` : description
}
