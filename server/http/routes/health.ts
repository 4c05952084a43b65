/** The root, liveness and readiness; none requires a key. */
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, renderJson, respond } from '../request-context.ts'

/** Claude Code asks for it before anything else, without a key. */
export const greet = async (_deps: ApiDeps, context: RequestContext): Promise<Response> =>
  respond(context, 'text/plain', null)

/** Liveness; checks nothing else. */
export const alive = async (_deps: ApiDeps, context: RequestContext): Promise<Response> =>
  renderJson(context, { status: 'ok' })

/** Readiness: 200 if new requests are accepted, 503 while any check fails. */
export async function ready(deps: ApiDeps, context: RequestContext): Promise<Response> {
  const health = await deps.store.health({ checkIntegrity: false }).catch(() => null)
  const checks = {
    store_writable: health?.writable ?? false,
    schema_current: health !== null && health.schemaVersion === health.newestSchemaVersion,
    accepting_requests: !deps.leaving.isUnready,
  }
  const ok = Object.values(checks).every(Boolean)
  return renderJson(context, { status: ok ? 'ok' : 'unavailable', checks }, ok ? 200 : 503)
}
