/** A chat answer as a stream: held until the upstream speaks, so that a real status stays possible, then pulled. */

import { unixSeconds } from '#domain/clock.ts'
import { RequestRefused } from '#domain/ending.ts'
import { type GatewayError, toGatewayError } from '#domain/errors.ts'
import type { FirstRun } from '../first-runs.ts'
import type { CounterHouse } from '../house.ts'
import { CLIENT_LEFT, toRequestLine } from '../request-log.ts'
import type { RunningWalk } from '../running-walks.ts'
import { eventStreamHeaders, learn, type Visit } from '../visit.ts'
import { type ChunkRenderer, startChunks } from '../wire/render-chunk.ts'
import { toSseBody } from '../wire/sse-body.ts'
import { startTranscript, type Transcript } from './replay.ts'

/** Throws what the walk throws as long as no header has left; after that an error is a chunk. */
export async function answerStream(
  house: CounterHouse,
  visit: Visit,
  walk: RunningWalk,
  run: FirstRun | null,
): Promise<Response> {
  const transcript = run && startTranscript(house, visit, run)
  const pieces = startPieces(house, visit, walk, transcript)
  let first: Promise<string | null> | null = pieces.next()
  await withinHold(first, house.timings.headerHoldMs)

  visit.streams = true
  let error: GatewayError | null = null
  let open = true
  const close = (status: number): void => {
    if (!open) return
    open = false
    house.hangUps.forget(walk)
    house.letIdle(visit.request)
    house.log?.(toRequestLine(visit, status, error ?? pieces.failure, house.clock.now()))
  }

  const body = toSseBody(
    {
      async next() {
        try {
          const piece = await (first ?? pieces.next())
          first = null
          if (piece === null) close(visit.charge === null && error === null ? CLIENT_LEFT : 200)
          return piece
        } catch (thrown) {
          first = null
          if (error !== null) return null
          error = toGatewayError(thrown instanceof RequestRefused ? thrown.error : thrown)
          return pieces.fail(error)
        }
      },
      leave: () => void walk.leave().then(() => close(CLIENT_LEFT)),
    },
    house.timings,
  )
  return new Response(body, { headers: eventStreamHeaders(visit) })
}

/** Waits for the first piece, but not for ever: then the headers leave without it. */
function withinHold(first: Promise<unknown>, headerHoldMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, headerHoldMs)
    first.then(() => resolve(), reject).finally(() => clearTimeout(timer))
  })
}

interface Pieces {
  /** The text of the next steps that have any, or null after the last. Throws what the walk throws. */
  next(): Promise<string | null>
  /** The last text of a stream whose walk threw after the headers had left. */
  fail(error: GatewayError): string
  /** What broke a stream that had begun. */
  readonly failure: GatewayError | null
}

/** Turns the steps of a walk into text. The usage and `[DONE]` come out of the receipt: the charge is committed. */
function startPieces(
  { clock }: CounterHouse,
  visit: Visit,
  walk: RunningWalk,
  transcript: Transcript | null,
): Pieces {
  const { includeUsage, model } = walk.request
  let chunks: ChunkRenderer | null = null
  let failure: GatewayError | null = null
  let last = false

  const begun = (): ChunkRenderer => {
    chunks ??= startChunks(
      {
        id: visit.generationId ?? visit.requestId,
        createdUnixSeconds: unixSeconds(visit.arrivedAt),
        model,
      },
      includeUsage,
    )
    return chunks
  }

  const keep = async (ending: string): Promise<void> => {
    if (failure !== null || walk.isCutShort) return
    transcript?.note(ending)
    await transcript?.keep()
  }

  return {
    get failure() {
      return failure
    },
    fail(error) {
      last = true
      return begun().error(error, visit.requestId) + begun().end(null)
    },
    async next() {
      if (last) return null
      for (;;) {
        const { value: step, done } = await walk.next()
        if (done) return null
        learn(visit, step, clock)
        let text = ''
        switch (step.type) {
          case 'admitted':
            break
          case 'opened':
            chunks = startChunks(step.head, includeUsage)
            break
          case 'events':
            text = begun().events(step.events)
            break
          case 'failed':
            failure = step.error
            text = begun().error(step.error, visit.requestId)
            break
          case 'receipt':
            text = begun().end(step.charge)
            last = true
            if (transcript) await keep(text)
            await walk.next()
            return text
        }
        if (text === '') continue
        transcript?.note(text)
        return text
      }
    },
  }
}
