/** Pages that the protocol library requests (errors and sign-out), and ours in place of those that it renders itself. */
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js'
import type { Context } from 'oidc-provider/lib/provider.js'
import type { Form } from '#pages/html.ts'
import { readLanguage } from '#pages/language.ts'
import type { SigninDeps } from './deps.ts'
import { TooManyInteractions } from './interaction-limit.ts'
import { formTarget } from './pages/form-target.ts'
import { POST_SCRIPT } from './pages/onward.ts'
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
    language: readLanguage(ctx.get('accept-language'), asked(ctx, 'ui_locales')),
    issuer,
    brand,
    formTargets: target === undefined ? [] : [target],
  })
  const isSet = view.page === 'posted' || (view.page === 'error' && ctx.status >= 400)
  if (!isSet) ctx.status = page.status
  for (const [name, value] of page.headers) ctx.set(name, value)
  ctx.body = await page.text()
}

/**
 * Shows the library's self-submitting forms on a page of ours: `form_post` responses, and sign-out without confirmation. Redirects
 * are left unchanged.
 */
export const guardLibraryPages =
  (deps: SigninDeps) =>
  async (ctx: Context, next: () => Promise<void>): Promise<void> => {
    await next()
    const { body } = ctx
    const isOurs = ctx.response.has('content-security-policy')
    const isRedirect = ctx.status >= 300 && ctx.status < 400
    if (ctx.type !== 'text/html' || typeof body !== 'string' || isOurs || isRedirect) return
    const end = asked(ctx, 'redirect_uri') ?? ctx.oidc.session.state?.postLogoutRedirectUri
    await show(deps, ctx, { page: 'posted', form: formIn(body), script: POST_SCRIPT.path }, end)
  }

/** The form on a page of the library. */
function formIn(body: string): Form {
  const [, action = ''] = /<form method="post" action="([^"]*)">/.exec(body) ?? []
  const fields = body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)
  return {
    action: unescaped(action),
    hidden: Object.fromEntries(
      [...fields].map(([, name = '', value = '']) => [name, unescaped(value)]),
    ),
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
}

const unescaped = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')

/** A parameter of the request, or of the one that it continues. */
const asked = ({ oidc }: Context, name: string): string | undefined =>
  oidc.params?.[name] ?? oidc.entities.Interaction?.params[name]
