/** Ends one request in progress: the output so far is charged, and the client gets an error. */
import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import { scopeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findScope } from './find-account.ts'
import { mutation } from './verb.ts'

export interface KillRecord {
  readonly id: string
  readonly request_id: string
  readonly key_id: string
  readonly model: string
  /** False when it had not ended after some seconds. */
  readonly ended: boolean
}

/** By generation id or request id. @throws account_not_found; generation_not_found, also when several have that request id */
export const killRequest = mutation(
  'activity.kill',
  z.strictObject({ account: scopeField, id: z.string().check(z.minLength(1)) }),
  async (deps, { id, account }): Promise<KillRecord> => {
    const found = findInFlight(deps, id, await findScope(deps, account))
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

function findInFlight({ live }: OperatorDeps, id: string, account: Account | null): InFlight {
  const running = live?.watch.inFlight(Number.POSITIVE_INFINITY) ?? []
  const all = running.filter(({ key }) => account === null || key.accountId === account.id)
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
