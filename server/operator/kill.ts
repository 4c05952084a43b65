/** Verbs for one request in progress: show it, and end it: the output so far is charged, and the client gets an error. */
import * as z from 'zod/mini'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { isGenerationId } from '#domain/id.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import { scopeField, textField } from '#forms/fields.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findScope } from './find-account.ts'
import { shownEndOf } from './shown-id.ts'
import type { InFlightRecord } from './snapshot/record.ts'
import { renderOne } from './snapshot/traffic.ts'
import { mutation, verb } from './verb.ts'

export interface KillRecord {
  readonly id: string
  readonly request_id: string
  readonly key_id: string
  readonly model: string
  /** Null where one process has the store. */
  readonly node: string | null
  /** False when it had not ended after some seconds. */
  readonly ended: boolean
}

const named = z.strictObject({ account: scopeField, id: textField })
type Named = z.output<typeof named>

/** @throws what `findInFlight` throws */
export const showRunning = verb(
  named,
  async (deps, input): Promise<InFlightRecord> =>
    renderOne(await findInFlight(deps, input), deps.clock.now()),
)

/** @throws what `findInFlight` throws */
export const killRequest = mutation(
  'activity.kill',
  named,
  async (deps, input, act): Promise<KillRecord> => {
    const found = await findInFlight(deps, input)
    const killed = await deps.watch?.kill(found.generationId)
    if (!killed) throw await notInProgress(deps, found.generationId)
    const ended = {
      request_id: found.requestId,
      key_id: found.key.id,
      model: found.model,
      node: found.node,
      ended: killed.ended,
    }
    await deps.store.acts.note(act(found.generationId, ended))
    return { id: found.generationId, ...ended }
  },
)

/**
 * By generation id, by request id, or by the end of an id as lists show it, among the requests of the account that is named.
 * @throws account_not_found; generation_not_found, also when several match: the message then lists them
 */
async function findInFlight(deps: OperatorDeps, { id, account }: Named): Promise<InFlight> {
  const within = await findScope(deps, account)
  const running = deps.watch?.inFlight(Number.POSITIVE_INFINITY) ?? []
  const own = running.filter(({ key }) => within === null || key.accountId === within.id)
  const [only, ...others] = matching(own, id)
  if (only === undefined) {
    const [elsewhere] = matching(running, id)
    if (elsewhere === undefined || within === null) throw await notInProgress(deps, id)
    const owner = await accountNameOf(deps, elsewhere.key.accountId)
    throw new GatewayError(
      'generation_not_found',
      `request ${id} is of account ${owner}, not of ${within.name}`,
      { hint: `repeat it with --account ${shellWord(owner)}` },
    )
  }
  if (others.length === 0) return only
  throw new GatewayError(
    'generation_not_found',
    `"${id}" means several requests in progress\n${[only, ...others].map(describe).join('\n')}`,
    { hint: 'name one by the id at the beginning of its line' },
  )
}

function matching(all: readonly InFlight[], id: string): readonly InFlight[] {
  const byId = all.filter(({ generationId }) => generationId === id)
  if (byId.length > 0) return byId
  const bySender = all.filter(({ requestId }) => requestId === id)
  if (bySender.length > 0) return bySender
  const end = shownEndOf('gen-', id)
  return end === null ? [] : all.filter(({ generationId }) => generationId.endsWith(end))
}

const describe = ({ generationId, arrivedAt, key, model }: InFlight): string =>
  `${generationId} (since ${renderInstant(arrivedAt)}, ${key.name}, ${model})`

/** The error says how it ended, where the log has its id. */
async function notInProgress({ store }: OperatorDeps, id: string): Promise<GatewayError> {
  const ended = isGenerationId(id) ? await store.activity.find(id) : undefined
  return ended
    ? new GatewayError(
        'generation_not_found',
        `request ${id} has ended: ${ended.code ?? ended.status}, ended by ${ended.endedBy}`,
        { hint: `gatewayctl activity show ${id}` },
      )
    : new GatewayError(
        'generation_not_found',
        `no request in progress is called "${id}"\nwhat has ended is in the log: gatewayctl activity list`,
        { hint: 'gatewayctl dashboard --once' },
      )
}
