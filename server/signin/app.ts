/** The HTTP app of the sign-in provider: protocol endpoints go to oidc-provider, the pages are our own (contract §10). */
import { Hono } from 'hono'
import { ASSETS, serveAssets } from '#pages/assets.ts'
import { assetsOf, NO_BRAND } from '#pages/brand.ts'
import { readLanguage } from '#pages/language.ts'
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { toGet, withModeOfObject, withSpacedScope } from './authorize-request.ts'
import { openBridge } from './bridge.ts'
import type { SigninDeps } from './deps.ts'
import { confirmPath, toDevicePage } from './device-pages.ts'
import { BodyBrokeOff, readBody, readForm } from './form-body.ts'
import { uidOfState } from './identities/federation.ts'
import { answerInteraction, isOwnForm } from './interaction.ts'
import type { Call, SigninContext } from './interaction-context.ts'
import { TooManyInteractions } from './interaction-limit.ts'
import { failPage, identityPath, seeOther } from './interaction-pages.ts'
import { openJournal } from './journal.ts'
import { newErrorId } from './library-pages.ts'
import { leadOnward } from './onward.ts'
import { POST_SCRIPT } from './pages/onward.ts'
import type { ErrorKind } from './pages/view.ts'
import { isIdentityProviderName } from './register/identity-provider.ts'
import { inOneAct, noteEvent } from './request-artifacts.ts'
import {
  AUTHORIZE,
  DEVICE,
  DEVICE_AUTHORIZATION,
  isStep,
  LOGOUT,
  methodsOf,
  REVOKE,
  TOKEN,
  USERINFO,
} from './routes.ts'
import { STORE_TROUBLE_STATUS, storeTroubleHeaders } from './store-trouble.ts'
import { countRefusal, withRedirect } from './token-request.ts'

export interface SigninApp {
  /** `address`: the client's network address. */
  answer(request: Request, address: string): Promise<Response>
}

interface Env {
  readonly Bindings: {
    readonly address: string
    /** Read once, because a request may run again; null if it is too long. */
    readonly body: Uint8Array | null
  }
}

/** The context is read on every request, because a rotated signing key creates a new provider. */
export function createSigninApp(
  first: SigninContext,
  signin: () => Promise<SigninContext>,
): SigninApp {
  const { deps, interactionLimit } = first
  const journal = openJournal(deps)
  const app = new Hono<Env>()

  const forward: Forward = async (request, address, target, body) => {
    const { provider } = await signin()
    const bridge = openBridge(asItIsRead(request), target, body, address)
    await provider.callback()(bridge.req, bridge.res)
    return await bridge.answer
  }
  const fail = (request: Request, kind: ErrorKind) =>
    failPage(deps, readLanguage(request.headers.get('accept-language')), kind)

  app.use(async (c, next) => {
    const { pathname } = new URL(c.req.url)
    const methods = methodsOf(pathname)
    if (methods === undefined) return fail(c.req.raw, 'not-found')
    const headers = { Allow: methods.join(', ') }
    if (!methods.includes(c.req.method)) return new Response(null, { status: 405, headers })
    if (c.req.method !== 'OPTIONS') return await next()
    // The library answers only CORS preflight requests, and only where it allows other origins.
    const preflight = await forward(c.req.raw, c.env.address, pathname, null)
    return preflight.ok ? preflight : new Response(null, { status: 204, headers })
  })

  app.get(AUTHORIZE, (c) => {
    const query = withModeOfObject(withSpacedScope(new URL(c.req.url).searchParams))
    return forward(c.req.raw, c.env.address, `${AUTHORIZE}?${query.toString()}`, null)
  })

  for (const path of [AUTHORIZE, LOGOUT]) {
    app.post(path, (c) => {
      const { body } = c.env
      const form = body === null ? undefined : readForm(c.req.raw, body)
      return (form && toGet(path, form)) ?? fail(c.req.raw, 'bad-request')
    })
  }

  app.post(TOKEN, async (c) => {
    const { body } = c.env
    if (body === null) return tooLong()
    const form = readForm(c.req.raw, body)
    const filled = form && (await withRedirect(form))
    const sent = filled === undefined || filled === form ? body : Buffer.from(filled.toString())
    const answer = await forward(c.req.raw, c.env.address, TOKEN, sent)
    if (form !== undefined) await countRefusal(form, answer)
    return answer
  })

  // These store something even if nobody is signed in, so they count against the limit; so does each code that is tried.
  for (const path of [LOGOUT, DEVICE, DEVICE_AUTHORIZATION]) {
    app.all(path, (c, next) => {
      interactionLimit.begin(c.env.address)
      return next()
    })
  }

  mountDeviceFlow(app, deps.issuer, forward, fail)
  const answerAsset = serveAssets([
    PASSKEY_SCRIPT,
    POST_SCRIPT,
    ...assetsOf(deps.brand ?? NO_BRAND),
  ])
  app.get(`${ASSETS}*`, (c) => answerAsset(c.req.raw) ?? fail(c.req.raw, 'not-found'))

  mountInteractions(app, async (call) => answerInteraction(await signin(), call), fail)

  app.all('*', async (c) => {
    const { pathname, search } = new URL(c.req.url)
    const { body } = c.env
    if (body === null) return tooLong()
    const sent = c.req.method === 'POST' ? body : null
    const answer = await forward(c.req.raw, c.env.address, pathname + search, sent)
    return leadOnward(deps, c.req.raw, answer)
  })

  app.onError((thrown, c) => {
    if (thrown instanceof TooManyInteractions) {
      noteEvent(deps.clock, { outcome: 'too_many_requests', address: c.env.address })
    }
    return faultPage(deps, c.req.raw, thrown)
  })

  const answer = async (request: Request, address: string): Promise<Response> => {
    if (!URL.canParse(request.url)) return new Response(null, { status: 400 })
    try {
      const body = await readBody(request)
      const run = async () => app.fetch(request, { address, body })
      return await inOneAct(deps.store.artifacts, journal, run)
    } catch (thrown) {
      return faultPage(deps, request, thrown)
    }
  }
  return {
    answer: async (request, address) =>
      withSecurityHeaders(await answer(request, address), deps.issuer),
  }
}

/** Passes a request to the protocol library. `target` is its path and query. */
type Forward = (
  request: Request,
  address: string,
  target: string,
  body: Uint8Array | null,
) => Promise<Response>

/** Where devices ask for a code, and where people type it; a typed code is answered by a redirect to the page that asks about it. */
function mountDeviceFlow(app: Hono<Env>, issuer: string, forward: Forward, fail: Fail): void {
  app.post(DEVICE_AUTHORIZATION, (c) => {
    const { address, body } = c.env
    const form = body === null ? undefined : readForm(c.req.raw, body)
    const scopes = form?.get('scope')?.split(' ')
    // Said at once, and not when a person has come.
    if (form !== undefined && !scopes?.includes('openid')) {
      return protocolFault(400, 'invalid_request', 'the scope openid must be requested')
    }
    return body === null ? tooLong() : forward(c.req.raw, address, DEVICE_AUTHORIZATION, body)
  })
  app.get(DEVICE, (c) => forward(c.req.raw, c.env.address, toDevicePage(new URL(c.req.url)), null))
  app.post(DEVICE, (c) => {
    const { address, body } = c.env
    if (!isOwnForm(c.req.raw, issuer)) return fail(c.req.raw, 'other-browser')
    const form = body === null ? undefined : readForm(c.req.raw, body)
    if (form === undefined) return fail(c.req.raw, 'bad-request')
    if (form.has('confirm') || form.has('abort')) return forward(c.req.raw, address, DEVICE, body)
    return seeOther(confirmPath(form.get('user_code') ?? ''))
  })
}

type Fail = (request: Request, kind: ErrorKind) => Promise<Response>

/** Routes of an interaction's pages, and the callback of third parties. */
function mountInteractions(
  app: Hono<Env>,
  answer: (call: Call) => Promise<Response>,
  fail: Fail,
): void {
  app.on(['GET', 'POST'], '/sign-in/:uid/:step?', async (c) => {
    const { uid, step } = c.req.param()
    const isPost = c.req.method === 'POST'
    if (step !== undefined && !isStep(step)) return fail(c.req.raw, 'not-found')
    if (!isPost && step !== undefined) return c.redirect(`/sign-in/${encodeURIComponent(uid)}`, 303)
    if (isPost && step === undefined) return fail(c.req.raw, 'not-found')
    const { address, body } = c.env
    if (body === null) return fail(c.req.raw, 'bad-request')
    return answer({
      request: c.req.raw,
      uid,
      step: step ?? null,
      identity: null,
      body: isPost ? body : null,
      address,
    })
  })

  app.on(['GET', 'POST'], '/sign-in/:uid/identity/:name', async (c) => {
    const { uid, name } = c.req.param()
    const context = { request: c.req.raw, uid, step: null, identity: name, body: null }
    return answer({ ...context, address: c.env.address })
  })

  // The interaction's cookie is bound to its path, so redirect there; only the right browser has the cookie.
  app.get('/identity/:name/callback', (c) => {
    const { search, searchParams } = new URL(c.req.url)
    const { name } = c.req.param()
    const uid = uidOfState(searchParams.get('state'))
    const isOurs = uid !== undefined && isIdentityProviderName(name)
    return isOurs ? seeOther(identityPath(uid, name) + search) : fail(c.req.raw, 'expired')
  })
}

async function faultPage(deps: SigninDeps, request: Request, thrown: unknown): Promise<Response> {
  // The client has disconnected; not logged, because clients could flood the log.
  if (thrown instanceof BodyBrokeOff) return new Response(null, { status: 400 })
  const language = readLanguage(request.headers.get('accept-language'))
  if (thrown instanceof TooManyInteractions) {
    const headers = { 'Retry-After': String(thrown.retryAfterSeconds) }
    if (isOfProgram(request)) {
      return protocolFault(429, thrown.error, 'too many requests from this network', headers)
    }
    const page = await failPage(deps, language, 'too-many-requests')
    page.headers.set('Retry-After', headers['Retry-After'])
    return page
  }
  const errorId = newErrorId()
  deps.logFault(thrown, errorId)
  if (isOfProgram(request)) return storeFault(thrown)
  const page = await failPage(deps, language, 'failed', errorId)
  const trouble = storeTroubleHeaders(thrown)
  if (trouble === undefined) return page
  for (const [name, value] of Object.entries(trouble)) page.headers.set(name, value)
  return new Response(page.body, { status: STORE_TROUBLE_STATUS, headers: page.headers })
}

/** Applications expect JSON. */
const isOfProgram = ({ url }: Request): boolean =>
  [TOKEN, USERINFO, REVOKE, DEVICE_AUTHORIZATION].includes(new URL(url).pathname)

/** Programs read JSON, whatever they say that they accept: the library would answer with a page, and no refusal is counted by one. */
function asItIsRead(request: Request): Request {
  if (!isOfProgram(request)) return request
  const headers = new Headers(request.headers)
  headers.set('Accept', 'application/json')
  return new Request(request.url, { method: request.method, headers })
}

function storeFault(thrown: unknown): Response {
  const trouble = storeTroubleHeaders(thrown)
  const status = trouble === undefined ? 500 : STORE_TROUBLE_STATUS
  return protocolFault(status, 'server_error', 'the gateway failed; try again', trouble)
}

const protocolFault = (
  status: number,
  error: string,
  error_description: string,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  Response.json(
    { error, error_description },
    { status, headers: { ...headers, 'Cache-Control': 'no-store' } },
  )

const tooLong = (): Response => protocolFault(413, 'invalid_request', 'the body is too long')

/** Headers of every response, redirects and errors included (hardening §3.1). */
function withSecurityHeaders(answer: Response, issuer: string): Response {
  answer.headers.set('X-Content-Type-Options', 'nosniff')
  if (issuer.startsWith('https:')) {
    answer.headers.set('Strict-Transport-Security', 'max-age=31536000')
  }
  return answer
}
