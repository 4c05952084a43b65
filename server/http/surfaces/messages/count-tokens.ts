/** `POST /v1/messages/count_tokens`: no money, no window, no line in the activity log. */
import { countPrompt } from '#domain/walk/count.ts'
import { findCaller, requireOrdinary } from '../../bearer.ts'
import type { ApiDeps } from '../../deps.ts'
import { readBody } from '../../read/body.ts'
import { shuttingDown } from '../../render-error.ts'
import {
  JSON_TEXT,
  type RequestContext,
  readQuota,
  respond,
  toBody,
} from '../../request-context.ts'
import { readMessagesRequest } from './read-request.ts'

export async function countTokens(deps: ApiDeps, context: RequestContext): Promise<Response> {
  const { key } = requireOrdinary(await findCaller(deps, context))
  if (deps.leaving.isDraining) throw shuttingDown()
  const end = deps.counts.begin(key, deps.clock.monotonicMs())
  try {
    const { headers, signal } = context.request
    const body = await readBody(context, deps.timings.bodyDeadlineMs)
    const request = readMessagesRequest(body, headers)
    context.model = request.model
    context.disableIdleTimeout()
    const { requestId } = context
    const counted = await countPrompt(deps, { key, request, requestId, signal })
    await readQuota(deps, context)
    const text = typeof counted === 'string' ? counted : JSON.stringify({ input_tokens: counted })
    return respond(context, JSON_TEXT, toBody([text], context.taken))
  } finally {
    end()
    context.restoreIdleTimeout()
  }
}
