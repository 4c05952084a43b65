/** Renders the error body of the HTTP API, and the headers that say whether to retry (contract §3). */
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import { RequestRefused } from '#domain/walk/completion.ts'
import type { ApiDeps } from './deps.ts'
import { headersFor, type RequestContext, readQuota } from './request-context.ts'
import { toRequestLine } from './request-log.ts'

/** OpenAI's SDKs wait at most this long; with a longer `Retry-After`, some of them retry within a second. */
const MAX_SDK_WAIT_SECONDS = 60

/** The message of every internal error; the details are only in the operator's log. */
const FAULT = 'the gateway failed while it handled this request'

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
  if (status === 429) {
    return (details.retryAfterSeconds ?? 0) > MAX_SDK_WAIT_SECONDS ? 'false' : undefined
  }
  // An automatic retry of an image request might be charged again.
  return wantsImages && status >= 502 && status <= 504 ? 'false' : undefined
}

/** Renders an error response, with rate headers if the key is known; never throws. */
export async function answerError(
  deps: ApiDeps,
  context: RequestContext,
  thrown: unknown,
  extra: Readonly<Record<string, string>> = {},
): Promise<Response> {
  if (thrown instanceof RequestRefused) {
    context.quota = thrown.quota
    context.generationId = thrown.generationId
  }
  const error = toGatewayError(thrown instanceof RequestRefused ? thrown.error : thrown)
  // If the store cannot read the windows either, the original error is still reported.
  await readQuota(deps, context).catch(() => {})

  const headers = headersFor(context, 'application/json')
  const { retryAfterSeconds } = error.details
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds)
  const retry = shouldRetry(error, context.wantsImages)
  if (retry !== undefined) headers['X-Should-Retry'] = retry
  if (error.status === 401) headers['WWW-Authenticate'] = 'Bearer'
  // The rest of the body was not read: it must neither be parsed as the next request nor be received.
  if (context.isArriving) headers['Connection'] = 'close'
  Object.assign(headers, extra)

  deps.log?.(toRequestLine(context, error.status, error, deps.clock))
  const body = { error: toErrorFields(error), request_id: context.requestId }
  return new Response(JSON.stringify(body), { status: error.status, headers })
}

export const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', 'the gateway is shutting down; ask again in a moment', {
    retryAfterSeconds: 2,
  })
