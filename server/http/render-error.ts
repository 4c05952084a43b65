/** Renders the errors of the HTTP API, in the shape of the family of the address, and says whether to retry (contract §3). */
import { FAULT, GatewayError, toGatewayError } from '#domain/errors.ts'
import { RequestRefused } from '#domain/walk/completion.ts'
import type { ApiDeps } from './deps.ts'
import { isMessagesAddress } from './paths.ts'
import {
  addProviderRequest,
  JSON_TEXT,
  type RequestContext,
  readQuota,
  respond,
} from './request-context.ts'
import { toRequestLine } from './request-log.ts'
import { renderError, statusOf } from './surfaces/messages/render-error.ts'

/** After a longer `Retry-After`, some SDKs retry within a second, and others sleep for hours. */
const MAX_SDK_WAIT_SECONDS = 60

/** The fields of `error`, in an answer and in a chunk alike. */
export const toErrorFields = ({ message, type, code, details }: GatewayError) => ({
  message: code === 'internal_error' ? FAULT : message,
  type,
  param: details.param ?? null,
  code,
  ...(details.metadata && { metadata: details.metadata }),
})

/** The value of `x-should-retry`; undefined leaves the decision to the SDK. */
function shouldRetry({ code, status, details }: GatewayError, wantsImages: boolean) {
  if (code === 'shutting_down') return 'true'
  if (status === 402 || details.permanent) return 'false'
  if ((details.retryAfterSeconds ?? 0) > MAX_SDK_WAIT_SECONDS) return 'false'
  // An automatic retry of an image request might be charged again.
  return wantsImages && status >= 502 && status <= 504 ? 'false' : undefined
}

/** Whether it asks as a client of Anthropic's API does, whatever is served there. */
const speaksMessages = ({ url, headers }: Request): boolean =>
  isMessagesAddress(url) || headers.has('anthropic-version')

/** Renders an error response, with rate headers if the key is known; never throws. */
export async function answerError(
  deps: ApiDeps,
  context: RequestContext,
  thrown: unknown,
  extra: Readonly<Record<string, string>> = {},
): Promise<Response> {
  if (thrown instanceof RequestRefused) {
    context.quota = thrown.quota
    context.generation = context.walk
  }
  const error = toGatewayError(thrown instanceof RequestRefused ? thrown.error : thrown)
  // If the store cannot read the windows either, the original error is still reported.
  await readQuota(deps, context).catch(() => {})

  const isMessages = speaksMessages(context.request)
  const status = isMessages ? statusOf(error.code) : error.status
  deps.log?.(toRequestLine(context, status, error, deps.clock))
  const body = isMessages
    ? renderError(error, context.requestId)
    : JSON.stringify({ error: toErrorFields(error), request_id: context.requestId })
  const response = respond(context, JSON_TEXT, body, status)
  const { headers } = response
  if (isMessages) headers.set('Request-Id', context.requestId)
  if (context.walk !== null) addProviderRequest(headers, context.walk)
  const { retryAfterSeconds } = error.details
  if (retryAfterSeconds !== undefined) headers.set('Retry-After', String(retryAfterSeconds))
  const retry = shouldRetry(error, context.walk?.request.wantsImages ?? false)
  if (retry !== undefined) headers.set('X-Should-Retry', retry)
  if (error.status === 401) headers.set('WWW-Authenticate', 'Bearer')
  // The rest of the body was not read: it must neither be parsed as the next request nor be received.
  if (context.isArriving) headers.set('Connection', 'close')
  for (const [name, value] of Object.entries(extra)) headers.set(name, value)
  return response
}

export const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', 'the gateway is shutting down; ask again in a moment', {
    retryAfterSeconds: 2,
  })
