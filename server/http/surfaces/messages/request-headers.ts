/** The headers of a Messages request: those that its provider gets, and the gateway's own. */
import { GatewayError } from '#domain/errors.ts'

export interface ClientHeaders {
  readonly passed: Readonly<Record<string, string>>
  /** Routing fields, for clients that can add headers and no fields. */
  readonly routing: { readonly models?: string[]; readonly allow_fallbacks?: boolean }
  /** Whether the answer's usage is to have its cost. */
  readonly wantsCost: boolean
}

const PRINTABLE = /^[ -~]{0,4096}$/
/** They name what belongs to the operator's account, or what the gateway does not keep. */
const KEPT_BACK = /^(?:oauth-|message-threads-)/i

/** @throws invalid_request */
export function readClientHeaders(headers: Headers): ClientHeaders {
  const version = readPrintable(headers, 'anthropic-version')
  const betas = readPrintable(headers, 'anthropic-beta')
    ?.split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '' && !KEPT_BACK.test(beta))
  return {
    passed: {
      ...(version !== null && { 'anthropic-version': version }),
      ...(betas?.length && { 'anthropic-beta': betas.join(',') }),
    },
    routing: readRoutingHeaders(headers),
    wantsCost: headers.get('x-gateway-usage')?.trim() === '1',
  }
}

function readPrintable(headers: Headers, name: string): string | null {
  const value = headers.get(name) ?? ''
  if (!PRINTABLE.test(value)) throw refused(name, 'up to 4096 printable ASCII characters')
  return value === '' ? null : value
}

function readRoutingHeaders(headers: Headers): ClientHeaders['routing'] {
  const models = headers.get('x-gateway-models')
  const fallbacks = headers.get('x-gateway-allow-fallbacks')?.trim().toLowerCase()
  if (fallbacks !== undefined && fallbacks !== 'true' && fallbacks !== 'false') {
    throw refused('X-Gateway-Allow-Fallbacks', 'true or false')
  }
  const named = models?.split(',').map((model) => model.trim()) ?? []
  if (named.length > MAX_MODELS || named.some(({ length }) => length === 0 || length > MAX_CHARS)) {
    throw refused('X-Gateway-Models', `up to ${MAX_MODELS} ids of models, with commas between them`)
  }
  return {
    ...(models !== null && { models: named }),
    ...(fallbacks !== undefined && { allow_fallbacks: fallbacks === 'true' }),
  }
}

const MAX_MODELS = 8
const MAX_CHARS = 256

const refused = (param: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: send ${wanted}`, { param })
