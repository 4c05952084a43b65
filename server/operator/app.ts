/** The operator API of a running server, on a Unix socket that only its owner can open: `POST /verbs/:name`, `GET /tail`, `GET /watch`. */
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { StoreTrouble } from '#domain/errors.ts'
import { GatewayError, toGatewayError, toldOf } from '#domain/errors.ts'
import type { OperatorDeps } from './deps.ts'
import type { Watchers } from './snapshot/stream.ts'
import { type AnyVerb, perform } from './verb.ts'
import { isVerbName, VERBS } from './verbs.ts'

/** An error as it crosses the socket; the command line turns it back into the same error. */
export interface OperatorErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly param: string | null
    readonly hint: string | null
    /** Why it is `store_unavailable`. */
    readonly trouble: StoreTrouble | null
  }
}

/** The caller's name, percent-encoded; trusted, because only the owner can open the socket. */
const OPERATOR_HEADER = 'x-operator'

/** By it a command sees that the gateway that serves is of another version. */
const VERSION_HEADER = 'x-gateway-version'

/** Answers verbs with JSON; the permissions of the socket are its only authentication. */
export function operatorApp(
  deps: Omit<OperatorDeps, 'who'>,
  logFault: (cause: unknown) => void,
): Hono {
  const app = new Hono()

  app.use(async (c, next) => {
    await deps.watch?.look()
    await next()
    c.res.headers.set(VERSION_HEADER, deps.version)
  })

  app.get('/tail', async (c) => {
    const { tail } = await import('./tail.ts')
    return await tail({ ...deps, who: 'reader' }, c.req.query())
  })

  app.post('/verbs/:name', async (c) => {
    const name = c.req.param('name')
    if (!isVerbName(name)) throw unknownVerb(name, deps.version)
    const verb: AnyVerb = await VERBS[name]()
    const who = readWho(c.req.header(OPERATOR_HEADER))
    return c.json(await perform(verb, { ...deps, who }, await readBody(c.req.raw)))
  })

  let watchers: Promise<Watchers> | null = null
  app.get('/watch', async (c) => {
    watchers ??= import('./snapshot/stream.ts').then(({ createWatchers }) =>
      createWatchers({ ...deps, who: 'watcher' }),
    )
    return await (await watchers).watch(c.req.query())
  })

  app.notFound((c) =>
    c.json(render(new GatewayError('route_not_found', 'there is nothing at this address')), 404),
  )

  app.onError((thrown, c) => {
    const error = toGatewayError(thrown)
    if (error.code === 'internal_error') logFault(error.details.cause ?? error)
    return c.json(render(error), error.status as ContentfulStatusCode)
  })

  return app
}

const MAX_WHO_CHARS = 200

function readWho(header: string | undefined): string {
  try {
    return decodeURIComponent(header ?? '').slice(0, MAX_WHO_CHARS) || 'unknown'
  } catch {
    return 'unknown'
  }
}

async function readBody(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch (cause) {
    throw new GatewayError('invalid_json', 'the body is not JSON', { cause })
  }
}

const unknownVerb = (name: string, version: string): GatewayError =>
  new GatewayError('route_not_found', `the running gateway (v${version}) knows no verb "${name}"`, {
    hint: 'restart the gateway with this version of gatewayctl',
  })

const render = (error: GatewayError): OperatorErrorBody => {
  const { code, details } = error
  const { param = null, hint = null, trouble = null } = details
  return { error: { code, message: toldOf(error), param, hint, trouble } }
}
