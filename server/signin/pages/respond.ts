/** Responses with a page, and the headers that every page has (hardening §3.1). */
import type { Language } from '#domain/language.ts'
import { type Brand, NO_BRAND } from '#pages/brand.ts'
import { pageHeaders } from '#pages/headers.ts'
import { renderPage, scriptOf } from './render.ts'
import { STYLE_SOURCE } from './style.ts'
import type { ErrorKind, PageView } from './view.ts'

/** What a response needs besides its view. */
export interface PageSetting {
  /** From `readLanguage`. */
  readonly language: Language
  /** `{auth_url}`: the page shows its host; if it is https, HSTS is sent. */
  readonly issuer: string
  /** The operator's name, logo and colour. */
  readonly brand?: Brand | undefined
  /**
   * Where the page's forms may end after redirects, from `formTarget`. Without it only the issuer is allowed, which is enough
   * where the redirects end in `OnwardView`.
   */
  readonly formTargets?: readonly string[] | undefined
  /** Default: what fits the page (200; 403 disabled and not allowed; 400 a device's code that is refused; by kind for an error). */
  readonly status?: number | undefined
  /** Added to the headers; each `Set-Cookie` is one pair. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
}

const ERROR_STATUSES: Readonly<Record<ErrorKind, number>> = {
  'unknown-client': 400,
  'unregistered-redirect': 400,
  'bad-request': 400,
  expired: 400,
  'signed-in': 400,
  'other-browser': 403,
  'not-found': 404,
  'too-many-requests': 429,
  failed: 500,
}

/** A response with the rendered page. */
export async function pageResponse(view: PageView, setting: PageSetting): Promise<Response> {
  const { host, protocol } = new URL(setting.issuer)
  const { brand = NO_BRAND } = setting
  const headers = new Headers({
    ...pageHeaders({
      formTargets: setting.formTargets ?? [],
      isHttps: protocol === 'https:',
      sources: [
        `style-src ${STYLE_SOURCE}${brand.style ? " 'self'" : ''}`,
        `img-src ${brand.logo ? "'self'" : 'data:'}`,
        ...(scriptOf(view) === undefined ? [] : ["script-src 'self'"]),
      ],
    }),
    'Content-Language': setting.language,
  })
  for (const [name, value] of setting.headers ?? []) headers.append(name, value)
  const text = await renderPage(view, setting.language, host, brand)
  return new Response(text, { status: setting.status ?? statusOf(view), headers })
}

function statusOf(view: PageView): number {
  if (view.page === 'error') return ERROR_STATUSES[view.kind]
  if (view.page === 'device') return view.problem === undefined ? 200 : 400
  return view.page === 'disabled' || view.page === 'not-allowed' ? 403 : 200
}
