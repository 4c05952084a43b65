/** Ends the redirects that follow a form of ours, so that an application may redirect wherever it likes. */

import { readLanguage } from '#pages/language.ts'
import type { SigninDeps } from './deps.ts'
import { pageResponse } from './pages/respond.ts'
import { AUTHORIZE, LOGOUT } from './routes.ts'

/** Where the library redirects to the application after a form: the resumed authorization request, and the sign-out. */
const AFTER_FORM = new RegExp(`^(${AUTHORIZE}/[^/]+|${LOGOUT}/confirm)$`)

/**
 * Answers a browser with `OnwardView` instead of a redirect to another origin. Programs without pages, which follow
 * `Location`, keep the redirect; so do custom schemes, which Android opens only by the redirects that follow a tap.
 */
export async function leadOnward(
  { issuer, brand }: SigninDeps,
  request: Request,
  answer: Response,
): Promise<Response> {
  const to = answer.headers.get('location')
  if (to === null || !AFTER_FORM.test(new URL(request.url).pathname)) return answer
  const { origin, protocol } = new URL(to, issuer)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  if (!isWeb || origin === new URL(issuer).origin || !isBrowser(request)) return answer
  const language = readLanguage(request.headers.get('accept-language'))
  const headers = answer.headers.getSetCookie().map((cookie) => ['Set-Cookie', cookie] as const)
  return pageResponse({ page: 'onward', to }, { language, issuer, brand, headers })
}

/** Every browser sends one of these when it opens a page; over http to another machine, or from before 2023, only the second. */
const isBrowser = ({ headers }: Request): boolean =>
  headers.get('sec-fetch-mode') === 'navigate' || headers.get('upgrade-insecure-requests') === '1'
