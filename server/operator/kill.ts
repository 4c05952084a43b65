/** Ends one request in progress: the output so far is charged, and the client gets an error. */
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
  /** False when it had not ended after some seconds. */
  readonly ended: boolean
}

/** By generation id or request id. @throws generation_not_found, also when several have that request id */
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
