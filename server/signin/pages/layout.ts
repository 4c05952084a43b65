/** The layout of every sign-in page. */
import type { Language } from '#domain/language.ts'
import { type Brand, drawBrand, headOf } from '#pages/brand.ts'
import { type Html, html, raw } from '#pages/html.ts'
import { STYLE } from './style.ts'

/** The title and content of a page, without its layout. */
export interface Sheet {
  readonly title: string
  /** Where the browser navigates to immediately. */
  readonly onwardTo?: string
  readonly content: Html
}

/** The same with the path of the script that the page runs, if any. */
type Whole = Sheet & { readonly script: string | undefined }

/** Renders a sheet in the layout: one main landmark, and below it the host name. */
export function layOut(sheet: Whole, language: Language, host: string, brand: Brand): Html {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${sheet.onwardTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${sheet.onwardTo}">`}
<title>${sheet.title}</title>
<style>${raw(STYLE)}</style>
${headOf(brand)}
${sheet.script !== undefined && html`<script src="${sheet.script}" type="module"></script>`}
</head>
<body>
<main>
<p class="brand">${drawBrand(brand)}</p>
${sheet.content}
</main>
<footer>${host}</footer>
</body>
</html>
`
}
