/** Health: whether the process lives, and whether it may be sent requests. Neither asks for a key. */
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, renderJson } from '../request-context.ts'

/** The process is alive; touches nothing. */
export const alive = async (_deps: ApiDeps, context: RequestContext): Promise<Response> =>
  renderJson(context, { status: 'ok' })

/** 200 when new requests may come, 503 while any check fails. */
export async function ready(deps: ApiDeps, context: RequestContext): Promise<Response> {
  const health = await deps.store.health({ checkIntegrity: false }).catch(() => null)
  const checks = {
    store_writable: health?.writable ?? false,
    schema_current: health !== null && health.schemaVersion === health.newestSchemaVersion,
    accepting_requests: !deps.draining(),
  }
  const ok = Object.values(checks).every(Boolean)
  return renderJson(context, { status: ok ? 'ok' : 'unavailable', checks }, ok ? 200 : 503)
}
