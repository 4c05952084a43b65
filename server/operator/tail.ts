/** `GET /tail`: requests as they end, as JSON lines until the reader disconnects, or no node lives. */
import * as z from 'zod/mini'
import type { ActivityEntry, ActivityQuery } from '#domain/activity.ts'
import { pause } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { isServed } from '#domain/snapshot/watch.ts'
import { orNull } from '#forms/fields.ts'
import { readForm } from '#forms/read-form.ts'
import { filterFields, namesOf, toFilter } from './activity.ts'
import { type ActivityRecord, renderActivity } from './activity-record.ts'
import type { OperatorDeps } from './deps.ts'
import { invalidInput } from './verb.ts'

/** A log entry with its error message. */
export interface TailRecord extends ActivityRecord {
  readonly message: string | null
}

/** The polling interval: shorter than a person notices. */
const POLL_MS = 100
/** Shorter than the idle time-outs of proxies and HTTP clients. */
const HEARTBEAT_MS = 30_000

const tailForm = z.strictObject({
  ...filterFields,
  errors: z._default(z.stringbool(), false),
  least_total_ms: orNull(z.coerce.number().check(z.minimum(0))),
})

/**
 * Sends requests that end from now on, and an empty line after `heartbeatMs` without any.
 * @throws invalid_request, account_not_found, key_not_found, store_unavailable when no gateway runs
 */
export async function tail(
  deps: OperatorDeps,
  sent: Readonly<Record<string, string>>,
  heartbeatMs = HEARTBEAT_MS,
): Promise<Response> {
  const reading = await readForm(tailForm, sent)
  if (!reading.fits) throw invalidInput(reading.path.join('.'), reading.message)
  const filter = await toFilter(deps, reading.value)
  const endings = openEndings(deps, filter, heartbeatMs)
  return new Response(toLines(endings), { headers: { 'Content-Type': 'application/x-ndjson' } })
}

/** Waits for requests that ended since the last call, oldest first; empty after a heartbeat interval, null once no node lives. */
type Endings = (signal: AbortSignal) => Promise<readonly TailRecord[] | null>

function openEndings(deps: OperatorDeps, filter: Filter, heartbeatMs: number): Endings {
  const { watch, live } = deps
  if (watch === undefined) throw new GatewayError('store_unavailable', 'no gateway is running')
  const { recent } = watch.pulse
  const mostPolls = Math.ceil(heartbeatMs / POLL_MS)
  let seen = recent.count
  return async (signal) => {
    for (let polls = 1; ; polls++) {
      await pause(POLL_MS, signal)
      await watch.look()
      const endings = [...recent.since(seen)].reverse()
      seen = recent.count
      const wanted = endings.filter((entry) => isWanted(filter, entry))
      if (wanted.length > 0 || polls >= mostPolls || signal.aborted)
        return await render(deps, wanted)
      if (live === null && !isServed(watch)) return null
    }
  }
}

export type Filter = Omit<
  ActivityQuery,
  'limit' | 'since' | 'until' | 'requestId' | 'idEnd' | 'madeBy'
>

/** The same filter as the store's query. */
export const isWanted = (
  { accountId, keyId, model, provider, endUser, surface, status, leastTotalMs, errorsOnly }: Filter,
  entry: ActivityEntry,
): boolean =>
  (accountId === undefined || entry.accountId === accountId) &&
  (keyId === undefined || entry.keyId === keyId) &&
  (model === undefined || entry.model === model) &&
  (provider === undefined || entry.provider === provider) &&
  (endUser === undefined || entry.endUser === endUser) &&
  (surface === undefined || entry.surface === surface) &&
  (status === undefined || (entry.status >= status.least && entry.status <= status.most)) &&
  (leastTotalMs === undefined || entry.totalMs >= leastTotalMs) &&
  (!errorsOnly || entry.endedBy !== 'completed')

async function render(deps: OperatorDeps, entries: readonly ActivityEntry[]) {
  const names = await namesOf(deps, entries)
  return entries.map((entry) => ({
    ...renderActivity(entry, names.get(entry.keyId) ?? entry.keyId),
    message: messageOf(entry),
  }))
}

function messageOf({ refusal, code, failedAttempts }: ActivityEntry): string | null {
  if (refusal !== null) return refusal.message
  const last = failedAttempts.at(-1)
  return code === null || last === undefined ? null : `${last.provider}: ${last.reason}`
}

/** Pull-based: a reader that has stopped reading costs nothing. */
function toLines(endings: Endings): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const closed = new AbortController()
  return new ReadableStream(
    {
      start(controller) {
        // Headers are sent with the first byte; the empty line tells the reader that nothing is missed from now on.
        controller.enqueue(encoder.encode('\n'))
      },
      async pull(controller) {
        const records = await endings(closed.signal)
        if (closed.signal.aborted) return
        if (records === null) return controller.close()
        const lines = records.map((record) => `${JSON.stringify(record)}\n`)
        controller.enqueue(encoder.encode(lines.join('') || '\n'))
      },
      cancel() {
        closed.abort()
      },
    },
    { highWaterMark: 0 },
  )
}
