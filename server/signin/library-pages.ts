/** Pages that the protocol library requests (errors and sign-out), and the headers of those that it renders itself. */
import { createHash } from 'node:crypto'
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js'
import type { Context } from 'oidc-provider/lib/provider.js'
import { pageHeaders } from '#pages/headers.ts'
import { readLanguage } from '#pages/language.ts'
import type { SigninDeps } from './deps.ts'
import { TooManyInteractions } from './interaction-limit.ts'
import { formTarget } from './pages/form-target.ts'
import { pageResponse } from './pages/respond.ts'
import type { ErrorKind, PageView } from './pages/view.ts'
import { randomName } from './register/digest.ts'
import type { PersonId } from './register/person.ts'

const ERROR_ID_CHARS = 12

/** An error id, shown on the page and written to the log. */
export const newErrorId = (): string => `err_${randomName(ERROR_ID_CHARS)}`

/** The page for errors that must not be returned to the client by a redirect. */
export async function showProblem(
  deps: SigninDeps,
  ctx: Context,
  out: { readonly error?: string; readonly error_description?: string },
  cause: unknown,
): Promise<void> {
  const kind = kindOf(ctx, out.error, cause)
  const errorId = kind === 'failed' ? newErrorId() : undefined
  if (errorId !== undefined) deps.logFault(cause, errorId)
  if (cause instanceof TooManyInteractions) ctx.set('Retry-After', String(cause.retryAfterSeconds))
  await show(deps, ctx, {
    page: 'error',
    kind,
    errorId,
    code: out.error,
    detail: kind === 'failed' ? undefined : out.error_description,
  })
}

/** The endpoints that forms of ours post to, with a secret of the session. */
const WITH_FORMS: readonly string[] = ['end_session_confirm', 'code_verification']

function kindOf({ oidc }: Context, error: string | undefined, cause: unknown): ErrorKind {
  if (cause instanceof TooManyInteractions) return 'too-many-requests'
  if (cause instanceof SessionNotFound) {
    return oidc.session?.accountId === undefined ? 'expired' : 'signed-in'
  }
  // A form that was already submitted, or that a later one in another tab replaced.
  if (WITH_FORMS.includes(oidc.route) && error === 'invalid_request') return 'expired'
  if (error === 'invalid_client') return 'unknown-client'
  if (error === 'invalid_redirect_uri') return 'unregistered-redirect'
  return error === 'server_error' ? 'failed' : 'bad-request'
}

/** Asks for confirmation before signing out, because following a link must not be enough. */
export async function showSignOut(deps: SigninDeps, ctx: Context): Promise<void> {
  const { session, client } = ctx.oidc
  const { secret = '', postLogoutRedirectUri } = session.state ?? {}
  const person = await deps.store.people.find((session.accountId ?? '') as PersonId)
  const { pathname: action } = new URL(ctx.oidc.urlFor('end_session_confirm'))
  await show(
    deps,
    ctx,
    {
      page: 'sign-out',
      clientName: client?.clientName,
      email: person?.email,
      form: { action, hidden: { xsrf: secret } },
    },
    postLogoutRedirectUri,
  )
}

/** Also shown to people who declined to sign out: the library redirects both here without telling them apart. */
export async function showSignedOut(deps: SigninDeps, ctx: Context): Promise<void> {
  const { client, provider } = ctx.oidc
  const { accountId } = await provider.Session.get(ctx)
  const person = accountId && (await deps.store.people.find(accountId as PersonId))
  const clientName = client?.clientName
  await (person
    ? show(deps, ctx, { page: 'stayed', clientName, email: person.email })
    : show(deps, ctx, { page: 'signed-out', clientName }))
}

/** Answers with a page of ours. `leadsTo`: where the redirects after its form end. */
export async function show(
  { issuer, brand }: SigninDeps,
  ctx: Context,
  view: PageView,
  leadsTo?: string,
): Promise<void> {
  const target = leadsTo === undefined ? undefined : formTarget(leadsTo)
  const page = await pageResponse(view, {
    language: readLanguage(ctx.get('accept-language'), ctx.oidc.params?.['ui_locales']),
    issuer,
    brand,
    formTargets: target === undefined ? [] : [target],
  })
  const refusal = view.page === 'error' && ctx.status >= 400
  if (!refusal) ctx.status = page.status
  for (const [name, value] of page.headers) ctx.set(name, value)
  ctx.body = await page.text()
}

/**
 * Adds the headers of our own pages to the library's self-submitting forms (`form_post` responses, and sign-out without
 * confirmation), and allows their one script. Redirects are left unchanged.
 */
export const guardLibraryPages =
  ({ issuer }: SigninDeps) =>
  async (ctx: Context, next: () => Promise<void>): Promise<void> => {
    await next()
    const { body } = ctx
    const isOurs = ctx.response.has('content-security-policy')
    const isRedirect = ctx.status >= 300 && ctx.status < 400
    if (ctx.type !== 'text/html' || typeof body !== 'string' || isOurs || isRedirect) return
    const end = formEnd(ctx)
    const target = end === undefined ? undefined : formTarget(end)
    const headers = pageHeaders({
      formTargets: target === undefined ? [] : [target],
      isHttps: issuer.startsWith('https:'),
      sources: scriptSource(body),
    })
    for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  }

/** Where a form of the library ends after redirects: the client's redirect URI or its post-logout redirect URI. */
const formEnd = ({ oidc }: Context): string | undefined =>
  oidc.params?.['redirect_uri'] ??
  oidc.entities.Interaction?.params['redirect_uri'] ??
  oidc.session.state?.postLogoutRedirectUri

/** Only the first script: it precedes any untrusted text. */
function scriptSource(page: string): readonly string[] {
  const script = /<script>(.*?)<\/script>/s.exec(page)?.[1]
  if (script === undefined) return []
  return [`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`]
}
