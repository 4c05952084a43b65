/** The HTTP API: the routes under `/v1` and `/api/v1`, and the answer to any other path. */
import { type Context, Hono } from 'hono'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { findCaller } from './bearer.ts'
import { addPreflightHeaders } from './cors.ts'
import { type ApiDeps, type ApiOptions, toApiDeps } from './deps.ts'
import { API_PATHS, type Method, type Place, ROOT_PATHS } from './paths.ts'
import { answerError } from './render-error.ts'
import { type Connections, RequestContext, respond } from './request-context.ts'
import { toRequestLine, UNKNOWN_ROUTE } from './request-log.ts'
import { routeNotFound } from './route-not-found.ts'
import { showGeneration } from './routes/generation.ts'
import { alive, greet, ready } from './routes/health.ts'
import { showKey } from './routes/key.ts'
import { amendKey, issueKey, listKeys, revokeKey, showAnyKey } from './routes/keys.ts'
import { listModels, showModel } from './routes/models.ts'
import { showDocument } from './routes/openapi.ts'
import { answerWork } from './surfaces/answer.ts'
import { CHAT } from './surfaces/chat/index.ts'
import { EMBEDDINGS } from './surfaces/embeddings/index.ts'
import { countTokens } from './surfaces/messages/count-tokens.ts'
import { MESSAGES } from './surfaces/messages/index.ts'
import { RERANK } from './surfaces/rerank/index.ts'
import { responsesSurface } from './surfaces/responses/index.ts'
import type { Surface } from './surfaces/surface.ts'

/** What a route reads of the address. */
interface Address {
  /** The part of the path that its pattern leaves open; empty where there is none. */
  readonly id: string
  readonly query: Readonly<Record<string, string>>
}

type Answer = (deps: ApiDeps, context: RequestContext, address: Address) => Promise<Response>

interface ApiRoute {
  readonly method: Method
  readonly path: string
  readonly name: string
  readonly answer: Answer
}

const on =
  (surface: Surface) =>
  (deps: ApiDeps, context: RequestContext): Promise<Response> =>
    answerWork(deps, context, surface)

const answerChat = on(CHAT)

const ANSWERS: Readonly<Record<keyof typeof API_PATHS, Answer>> = {
  chat: answerChat,
  embeddings: on(EMBEDDINGS),
  rerank: on(RERANK),
  responses: (deps, context) => answerWork(deps, context, responsesSurface(deps.seals)),
  messages: on(MESSAGES),
  'messages.count': countTokens,
  models: (deps, context, { query }) => listModels(deps, context, query),
  model: (deps, context, { id }) => showModel(deps, context, id),
  key: showKey,
  generation: (deps, context, { query }) => showGeneration(deps, context, query['id'] ?? ''),
  'keys.issue': issueKey,
  'keys.list': (deps, context, { query }) => listKeys(deps, context, query),
  'keys.show': (deps, context, { id }) => showAnyKey(deps, context, id),
  'keys.amend': (deps, context, { id }) => amendKey(deps, context, id),
  'keys.revoke': (deps, context, { id }) => revokeKey(deps, context, id),
}

const ROOT_ANSWERS: Readonly<Record<keyof typeof ROOT_PATHS, Answer>> = {
  root: greet,
  openapi: showDocument,
  healthz: alive,
  readyz: ready,
}

/** Not logged, because they are called too often. */
const QUIET: ReadonlySet<string> = new Set(['root', 'healthz', 'readyz'])

const toRoutes = <Name extends string>(
  paths: Readonly<Record<Name, Place>>,
  answers: Readonly<Record<Name, Answer>>,
  prefix = '',
): readonly ApiRoute[] =>
  Object.entries<Place>(paths).map(([name, [method, path]]) => ({
    method,
    path: prefix + path,
    name,
    answer: answers[name as Name],
  }))

const PREFIXES = ['/v1', '/api/v1']

const ROUTES: readonly ApiRoute[] = [
  ...PREFIXES.flatMap((prefix) => toRoutes(API_PATHS, ANSWERS, prefix)),
  ...toRoutes(ROOT_PATHS, ROOT_ANSWERS),
]

/** `GET /v1/models`, for the error of an unknown path; ids are left out. */
const SERVED = Object.values<Place>(API_PATHS)
  .filter(([, path]) => !path.includes(':'))
  .map(([method, path]) => `${method} /v1${path}`)

/** One handler per route and no middleware, so that hono calls it directly. */
export function createApi(options: ApiOptions): Hono {
  const deps = toApiDeps(options)
  const app = new Hono()
  for (const route of ROUTES) {
    app.on(route.method, route.path, (c) => answerRoute(deps, c, route, c.req.param('id') ?? ''))
  }
  const { fetch } = app
  app.fetch = (request, env) => {
    if (!isChat(request)) return fetch(request, env)
    return handle(deps, toContext(deps, request, 'chat', env), answerChat)
  }
  app.options('*', (c) => preflight(deps, c.req.raw))
  app.notFound((c) => answerOther(deps, c))
  app.onError((thrown, c) =>
    answerError(deps, new RequestContext(deps.clock, c.req.raw, UNKNOWN_ROUTE), thrown),
  )
  return app
}

/**
 * The most frequent route bypasses the router, which allocates about thirty objects per request. Any other spelling of the
 * URL goes through the router.
 */
function isChat({ method, url }: Request): boolean {
  if (method !== 'POST') return false
  const chars = url.length - url.indexOf('/', MIN_ORIGIN_CHARS)
  for (const path of CHAT_PATHS) if (path.length === chars && url.endsWith(path)) return true
  return false
}

const CHAT_PATHS = PREFIXES.map((prefix) => prefix + API_PATHS.chat[1])
const MIN_ORIGIN_CHARS = 'http://'.length + 1

/** The router removes the body of an answer to HEAD, whose length must be that of GET all the same (RFC 9110, §8.6). */
async function stateLength(request: Request, answer: Promise<Response>): Promise<Response> {
  const response = await answer
  if (request.method !== 'HEAD') return response
  const { byteLength } = await response.arrayBuffer()
  response.headers.set('Content-Length', String(byteLength))
  return new Response(null, response)
}

function answerRoute(deps: ApiDeps, c: Context, route: ApiRoute, id: string): Promise<Response> {
  const { raw } = c.req
  const asked = toContext(deps, raw, route.name, c.env)
  const answer = () => route.answer(deps, asked, { id, query: c.req.query() })
  return stateLength(raw, handle(deps, asked, answer))
}

/** `env` is what the listener passes along; nothing comes along with a request from within. */
const toContext = ({ clock }: ApiDeps, request: Request, route: string, env: unknown) =>
  new RequestContext(clock, request, route, env as Connections | undefined)

/** A base URL that ends in a slash makes a path with two; a path may also end in one. Both are served as if it were not there. */
function answerOther(deps: ApiDeps, c: Context): Promise<Response> {
  const { raw, path } = c.req
  const tidy = path.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
  const method = raw.method === 'HEAD' ? 'GET' : raw.method
  const route =
    tidy === path ? undefined : ROUTES.find((one) => one.method === method && serves(one, tidy))
  return route
    ? answerRoute(deps, c, route, idIn(route, tidy))
    : stateLength(raw, answerUnserved(deps, raw, tidy))
}

/** The end of the path, where the pattern leaves it open. */
function idIn({ path: pattern }: ApiRoute, path: string): string {
  const open = pattern.indexOf(':')
  if (open === -1) return ''
  const id = path.slice(open)
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

/** Runs a route and converts what it throws to an error response. */
async function handle(
  deps: ApiDeps,
  context: RequestContext,
  answer: (deps: ApiDeps, context: RequestContext) => Promise<Response>,
): Promise<Response> {
  try {
    checkAddress(context.request)
    const response = await answer(deps, context)
    if (deps.log !== null && !context.streams && !QUIET.has(context.route)) {
      deps.log(toRequestLine(context, response.status, null, deps.clock))
    }
    return response
  } catch (thrown) {
    context.taken?.release()
    return await answerError(deps, context, thrown)
  }
}

function preflight(deps: ApiDeps, request: Request): Response {
  const response = respond(new RequestContext(deps.clock, request, 'preflight'), '', null, 204)
  addPreflightHeaders(response.headers, request)
  return response
}

/** For an unknown path, or a method that the path does not support. */
async function answerUnserved(deps: ApiDeps, request: Request, path: string): Promise<Response> {
  const context = new RequestContext(deps.clock, request, UNKNOWN_ROUTE)
  await noteKey(deps, context)
  if (isWebSocket(request) && /\/responses$/.test(path)) {
    return await answerError(deps, context, noWebSocket(), { Upgrade: 'HTTP/1.1' })
  }
  const methods = ROUTES.filter((route) => serves(route, path)).map(({ method }) => method)
  if (methods.length === 0) return await answerError(deps, context, noRoute(request, path))
  const allow = [...new Set(methods), ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
  return await answerError(
    deps,
    context,
    new GatewayError('method_not_allowed', `this address answers ${allow.join(', ')}`),
    { Allow: allow.join(', ') },
  )
}

const isWebSocket = ({ method, headers }: Request): boolean =>
  method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket'

/** After a 426 Codex asks by POST at once; after any other status it tries seven times. */
const noWebSocket = (): GatewayError =>
  new GatewayError(
    'websocket_not_supported',
    'there are no WebSockets here; send the same by POST, with "stream": true',
  )

/** A known key gets rate headers on these errors too (contract §4); an unknown key gets the same error, not a 401. */
async function noteKey(deps: ApiDeps, context: RequestContext): Promise<void> {
  // Without a key, or with one that is revoked, the error is the same.
  await findCaller(deps, context).catch(() => undefined)
}

/** A malformed URL is reported as such, not as an unknown path. */
function noRoute(request: Request, path: string): GatewayError {
  try {
    checkAddress(request)
  } catch (thrown) {
    return toGatewayError(thrown)
  }
  return routeNotFound(path, SERVED)
}

/** `:id{.+}` matches the rest of a path, `:id` one segment. */
function serves({ path: pattern }: ApiRoute, path: string): boolean {
  const open = pattern.indexOf(':')
  if (open === -1) return pattern === path
  const rest = path.slice(open)
  if (!path.startsWith(pattern.slice(0, open)) || rest === '') return false
  return pattern.endsWith('}') || !rest.includes('/')
}

/** Bun passes on a relative or malformed URL if `Host` is missing or invalid; routing uses the path only. */
const WELL_FORMED = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Two `Host` headers arrive joined by a comma. @throws invalid_request */
function checkAddress(request: Request): void {
  if (WELL_FORMED.test(request.url) && !request.headers.get('host')?.includes(',')) return
  throw new GatewayError('invalid_request', 'the request has no single, well-formed Host')
}
