/** GET /v1/generation?id=gen-…: the receipt of one request, for any ordinary key of its account (contract §7). Takes no slot. */
import type { ActivityEntry } from '#domain/activity.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { generationsFrom, isGenerationId } from '#domain/id.ts'
import { readReceipt } from '#domain/receipt.ts'
import { findCaller, requireOrdinary } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, readQuota, renderJson } from '../request-context.ts'
import { renderGeneration } from '../wire/render-generation.ts'

/** @throws generation_not_found also while it runs, and for another account's, so that its existence is not disclosed */
export async function showGeneration(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const { key } = requireOrdinary(await findCaller(deps, context))
  if (id === '') {
    throw new GatewayError('invalid_request', 'say which one: ?id=gen-…', { param: 'id' })
  }
  const entry = await findLine(deps, id)
  if (entry?.accountId !== key.accountId) {
    throw new GatewayError('generation_not_found', await whyNot(deps, id), { param: 'id' })
  }
  const receipt = await readReceipt(deps.store, entry)
  await readQuota(deps, context)
  return renderJson(context, renderGeneration(receipt))
}

/** Judged only by the time in the id, so that its existence is not disclosed. */
async function whyNot({ store }: ApiDeps, id: string): Promise<string> {
  const since = await store.activity.keptSince()
  return since !== null && isGenerationId(id) && id < generationsFrom(since)
    ? `there is no such generation: what ended before ${renderInstant(since)} is no longer kept`
    : 'there is no such generation, or it has not ended yet'
}

const findLine = async ({ store }: ApiDeps, id: string): Promise<ActivityEntry | undefined> =>
  isGenerationId(id) ? await store.activity.find(id) : undefined
