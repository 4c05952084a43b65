/** Ends one running request: what came of it is charged, and its client is told who ended it. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import type { OperatorDeps } from './deps.ts'
import { mutation } from './verb.ts'

export interface KillRecord {
  readonly id: string
  readonly request_id: string
  readonly key_id: string
  readonly model: string
  /** False when it had not ended some seconds later: its upstream ignores that it was let go. */
  readonly ended: boolean
}

/** By the generation's id, or the request's. @throws generation_not_found, also when several carry that request id */
export const killRequest = mutation(
  'activity.kill',
  z.strictObject({ id: z.string().check(z.minLength(1)) }),
  async (deps, { id }): Promise<KillRecord> => {
    const found = findInFlight(deps, id)
    const killed = await deps.live?.watch.kill(found.generationId)
    if (!killed) throw notInProgress(id)
    return {
      id: found.generationId,
      request_id: found.requestId,
      key_id: found.key.id,
      model: found.model,
      ended: killed.ended,
    }
  },
  (_, { id, ...killed }) => ({ target: id, changed: killed }),
)

function findInFlight({ live }: OperatorDeps, id: string): InFlight {
  const all = live?.watch.inFlight(Number.POSITIVE_INFINITY) ?? []
  const byId = all.find(({ generationId }) => generationId === id)
  if (byId) return byId
  const [only, ...others] = all.filter(({ requestId }) => requestId === id)
  if (only === undefined) throw notInProgress(id)
  if (others.length === 0) return only
  const ids = [only, ...others].map(({ generationId }) => generationId)
  throw new GatewayError(
    'generation_not_found',
    `several requests in progress were sent as "${id}"\n${ids.join('\n')}`,
  )
}

const notInProgress = (id: string): GatewayError =>
  new GatewayError('generation_not_found', `no request in progress is called "${id}"`, {
    hint: 'gatewayctl dashboard',
  })
