/** A page on its way to the browser: its text, and the headers that every page of the sign-in provider carries (hardening §3.1). */
import type { Language } from './language.ts'
import type { PageView } from './view.ts'

/** What an answer needs beside its view. */
export interface PageSetting {
  /** From `readLanguage`. */
  readonly language: Language
  /** The issuer's address as `{auth_url}` states it: the page names its host, and https is kept by HSTS. */
  readonly issuer: string
  /** Where the page's forms may end up after redirects, from `formTarget`; none: only at the issuer. */
  readonly formTargets?: readonly string[] | undefined
  /** Default: what fits the page (200; 403 disabled; by kind for an error). */
  readonly status?: number | undefined
  /** Added to the headers; each `Set-Cookie` is one pair. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
}

/** Draws the page and answers with it. */
export async function pageResponse(_view: PageView, _setting: PageSetting): Promise<Response> {
  throw new Error('not drawn yet')
}
