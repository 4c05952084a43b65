/** Health: whether the process lives, and whether it may be sent requests. Neither asks for a key. */
import type { CounterHouse } from '../house.ts'
import { renderJson, type Visit } from '../visit.ts'

/** The process is alive; touches nothing. */
export const alive = async (_house: CounterHouse, visit: Visit): Promise<Response> =>
  renderJson(visit, { status: 'ok' })

/** 200 when new requests may come, 503 while any check fails. */
export async function ready(house: CounterHouse, visit: Visit): Promise<Response> {
  const health = await house.store.health({ checkIntegrity: false }).catch(() => null)
  const checks = {
    store_writable: health?.writable ?? false,
    schema_current: health !== null && health.schemaVersion === health.newestSchemaVersion,
    accepting_requests: !house.draining(),
  }
  const ok = Object.values(checks).every(Boolean)
  return renderJson(visit, { status: ok ? 'ok' : 'unavailable', checks }, ok ? 200 : 503)
}
