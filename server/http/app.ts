/** The counter: every path a client may call, under `/v1` and `/api/v1`, and what every other path is answered. */
import { type Context, Hono } from 'hono'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { checkAddress } from './address.ts'
import { addPreflightHeaders } from './cors.ts'
import { type CounterHouse, type CounterOptions, openHouse } from './house.ts'
import { refuse } from './render-error.ts'
import { toRequestLine } from './request-log.ts'
import { chatCompletions } from './routes/chat-completions.ts'
import { showGeneration } from './routes/generation.ts'
import { alive, ready } from './routes/health.ts'
import { showKey } from './routes/key.ts'
import { amendKey, issueKey, listKeys, revokeKey, showAnyKey } from './routes/keys.ts'
import { listModels, readModelFilter, showModel } from './routes/models.ts'
import { showDocument } from './routes/openapi.ts'
import { headersFor, startVisit, type Visit } from './visit.ts'

type Answer = (house: CounterHouse, visit: Visit, c: Context) => Promise<Response>

interface CounterRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly name: string
  readonly answer: Answer
  /** Called too often to be worth a line of the log. */
  readonly quiet?: true
}

const PREFIXES = ['/v1', '/api/v1']

const CHAT: CounterRoute = {
  method: 'POST',
  path: '/chat/completions',
  name: 'chat',
  answer: chatCompletions,
}

const API: readonly CounterRoute[] = [
  CHAT,
  {
    method: 'GET',
    path: '/models',
    name: 'models',
    answer: (house, visit, c) => listModels(house, visit, readModelFilter(c.req.query())),
  },
  {
    method: 'GET',
    path: '/models/:id{.+}',
    name: 'model',
    answer: (house, visit, c) => showModel(house, visit, c.req.param('id') ?? ''),
  },
  { method: 'GET', path: '/key', name: 'key', answer: showKey },
  {
    method: 'GET',
    path: '/generation',
    name: 'generation',
    answer: (house, visit, c) => showGeneration(house, visit, c.req.query('id') ?? ''),
  },
  { method: 'POST', path: '/keys', name: 'keys.issue', answer: issueKey },
  {
    method: 'GET',
    path: '/keys',
    name: 'keys.list',
    answer: (house, visit, c) => listKeys(house, visit, c.req.query()),
  },
  {
    method: 'GET',
    path: '/keys/:id',
    name: 'keys.show',
    answer: (house, visit, c) => showAnyKey(house, visit, c.req.param('id') ?? ''),
  },
  {
    method: 'PATCH',
    path: '/keys/:id',
    name: 'keys.amend',
    answer: (house, visit, c) => amendKey(house, visit, c.req.param('id') ?? ''),
  },
  {
    method: 'DELETE',
    path: '/keys/:id',
    name: 'keys.revoke',
    answer: (house, visit, c) => revokeKey(house, visit, c.req.param('id') ?? ''),
  },
]

const ROUTES: readonly CounterRoute[] = [
  ...PREFIXES.flatMap((prefix) => API.map((route) => ({ ...route, path: prefix + route.path }))),
  { method: 'GET', path: '/openapi.json', name: 'openapi', answer: showDocument },
  { method: 'GET', path: '/healthz', name: 'healthz', answer: alive, quiet: true },
  { method: 'GET', path: '/readyz', name: 'readyz', answer: ready, quiet: true },
]

/** One handler per route and no middleware: hono then calls it without building a chain. */
export function createCounter(options: CounterOptions): Hono {
  const house = openHouse(options)
  const app = new Hono()
  for (const route of ROUTES) {
    app.on(route.method, route.path, (c) =>
      attend(house, c.req.raw, route, (_house, visit) => route.answer(house, visit, c)),
    )
  }
  const { fetch } = app
  app.fetch = (request, env, context) =>
    isChat(request) ? attend(house, request, CHAT, chatCompletions) : fetch(request, env, context)
  app.options('*', (c) => preflight(house, c.req.raw))
  app.notFound((c) => turnAway(house, c.req.raw, c.req.path))
  app.onError((thrown, c) => refuse(house, startVisit(house, c.req.raw, 'unknown'), thrown))
  return app
}

/**
 * What is asked all day does without the router: it makes some thirty objects for a request, most of them functions. An
 * address that is spelt otherwise is the router's to read.
 */
function isChat({ method, url }: Request): boolean {
  if (method !== 'POST') return false
  const chars = url.length - url.indexOf('/', SHORTEST_ORIGIN_CHARS)
  for (const path of CHAT_PATHS) if (path.length === chars && url.endsWith(path)) return true
  return false
}

const CHAT_PATHS = PREFIXES.map((prefix) => prefix + CHAT.path)
const SHORTEST_ORIGIN_CHARS = 'http://'.length + 1

/** Every throw of a route becomes its answer here. */
async function attend(
  house: CounterHouse,
  request: Request,
  route: CounterRoute,
  answer: (house: CounterHouse, visit: Visit) => Promise<Response>,
): Promise<Response> {
  const visit = startVisit(house, request, route.name)
  try {
    checkAddress(request)
    const response = await answer(house, visit)
    if (house.log !== null && !visit.streams && !route.quiet) {
      house.log(toRequestLine(visit, response.status, null, house.clock.now()))
    }
    return response
  } catch (thrown) {
    return await refuse(house, visit, thrown)
  }
}

function preflight(house: CounterHouse, request: Request): Response {
  const headers = headersFor(startVisit(house, request, 'preflight'), '')
  addPreflightHeaders(headers, request)
  return new Response(null, { status: 204, headers })
}

/** A path nobody serves, or a method that a served path does not know. */
function turnAway(house: CounterHouse, request: Request, path: string): Promise<Response> {
  const visit = startVisit(house, request, 'unknown')
  const methods = ROUTES.filter((route) => serves(route, path)).map(({ method }) => method)
  if (methods.length === 0) return refuse(house, visit, noRoute(request))
  const allow = [...new Set(methods), ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
  return refuse(
    house,
    visit,
    new GatewayError('method_not_allowed', `this address answers ${allow.join(', ')}`),
    { Allow: allow.join(', ') },
  )
}

/** A broken address leads nowhere, but that is not what the caller should be told. */
function noRoute(request: Request): GatewayError {
  try {
    checkAddress(request)
  } catch (thrown) {
    return toGatewayError(thrown)
  }
  return new GatewayError('route_not_found', 'there is nothing at this address')
}

/** `:id{.+}` stands for the rest of a path, `:id` for one part of it. */
function serves({ path: pattern }: CounterRoute, path: string): boolean {
  const open = pattern.indexOf(':')
  if (open === -1) return pattern === path
  const rest = path.slice(open)
  if (!path.startsWith(pattern.slice(0, open)) || rest === '') return false
  return pattern.endsWith('}') || !rest.includes('/')
}
