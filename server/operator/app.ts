/** The operator's door of a running server: `POST /verbs/:name` on a Unix socket that only its owner can open. */
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import type { Office } from './office.ts'
import { type AnyVerb, perform } from './verb.ts'
import { isVerbName, VERBS } from './verbs.ts'

/** What the door says of an error; the command line turns it back into the same error. */
export interface OperatorErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly param: string | null
    readonly hint: string | null
  }
}

/** Answers verbs with JSON; the permissions of the socket are its only authentication. */
export function operatorApp(office: Office, logFault: (cause: unknown) => void): Hono {
  const app = new Hono()

  app.post('/verbs/:name', async (c) => {
    const name = c.req.param('name')
    if (!isVerbName(name)) throw unknownVerb(name, office.version)
    const verb: AnyVerb = await VERBS[name]()
    return c.json(await perform(verb, office, await readBody(c.req.raw)))
  })

  app.notFound((c) => c.json(render(new GatewayError('route_not_found', 'no such door')), 404))

  app.onError((thrown, c) => {
    const error = toGatewayError(thrown)
    if (error.code === 'internal_error') logFault(error.details.cause ?? error)
    return c.json(render(error), error.status as ContentfulStatusCode)
  })

  return app
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

const render = ({ code, message, details }: GatewayError): OperatorErrorBody => ({
  error: { code, message, param: details.param ?? null, hint: details.hint ?? null },
})
