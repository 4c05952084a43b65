/** GET /v1/key: the caller's own limits and usage. Takes no slot, and works when every limit is exhausted (contract §5). */
import { rateAt } from '#domain/rate.ts'
import { findCaller } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, readQuota, renderJson } from '../request-context.ts'
import { renderKeyInfo } from '../wire/render-key-info.ts'

export async function showKey(deps: ApiDeps, context: RequestContext): Promise<Response> {
  const { store, clock } = deps
  const { key } = await findCaller(deps, context)
  const at = clock.now()
  const usage = await store.admissions.usage(key.id, at)
  const account = await store.accounts.find(key.accountId)
  const { rubPerUsd } = rateAt(store.catalogue.current(), at)
  if (!account) throw new Error(`key ${key.id} has no account`)
  await readQuota(deps, context)
  return renderJson(context, renderKeyInfo({ key, usage, balance: account.balance, rubPerUsd, at }))
}
