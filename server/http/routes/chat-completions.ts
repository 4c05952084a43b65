/** POST /v1/chat/completions: what stands before the walk, and which of the two answers comes after it (contract §7). */

import type { AnswerHead } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import { readBody } from '../body.ts'
import { type FirstRun, readIdempotencyKey } from '../first-runs.ts'
import type { CounterHouse } from '../house.ts'
import { readChatRequest } from '../read-chat-request.ts'
import { shuttingDown } from '../render-error.ts'
import { CLIENT_LEFT } from '../request-log.ts'
import type { RunningWalk } from '../running-walks.ts'
import { headersFor, JSON_TEXT, learn, type Visit } from '../visit.ts'
import { startFold } from '../wire/fold-answer.ts'
import { toBody } from '../wire/long-body.ts'
import { admitOrdinary } from './admit-kind.ts'
import { answerQuote, isDryRun } from './chat-quote.ts'
import { answerStream } from './chat-stream.ts'
import { keepAnswer, replay } from './replay.ts'

export async function chatCompletions(house: CounterHouse, visit: Visit): Promise<Response> {
  const admitted = admitOrdinary(house, visit)
  const key = admitted instanceof Promise ? await admitted : admitted
  if (house.draining()) throw shuttingDown()
  const idempotencyKey = readIdempotencyKey(visit.request.headers)
  const mayRepeat = idempotencyKey !== null
  const body = await readBody(visit.request, house.timings.bodyDeadlineMs, mayRepeat)
  const request = readChatRequest(body)
  visit.wantsImages = request.wantsImages
  visit.model = request.model
  if (isDryRun(visit.request.headers)) return await answerQuote(house, visit, key, request)

  let run: FirstRun | null = null
  if (mayRepeat) {
    const repeatable = { keyId: key.id, idempotencyKey, bodySha256: body.sha256 }
    const begun = await house.firstRuns.begin(repeatable, house.clock.now())
    if ('body' in begun) return await replay(house, visit, begun)
    run = begun
  }

  house.holdOpen(visit.request)
  const { requestId, arrivedAt } = visit
  const walk = house.running.start(house, { key, requestId, arrivedAt }, request, run?.over)
  // A picture that can be asked for again is drawn to its end, for whoever asks again.
  if (run === null || !request.wantsImages) house.hangUps.watch(walk, visit.request)
  try {
    return await (request.stream ? answerStream : answerWhole)(house, visit, walk, run)
  } finally {
    if (!visit.streams) {
      house.hangUps.forget(walk)
      house.letIdle(visit.request)
    }
  }
}

/** The whole answer leaves after its receipt: its charge is committed (design §3). */
async function answerWhole(
  house: CounterHouse,
  visit: Visit,
  walk: RunningWalk,
  run: FirstRun | null,
): Promise<Response> {
  const fold = startFold()
  const told: Told = { head: null, failure: null, text: null }
  await walk.read((step) => {
    learn(visit, step, house.clock)
    if (step.type === 'opened') told.head = step.head
    else if (step.type === 'events') fold.note(step.events)
    else if (step.type === 'failed') told.failure = step.error
    else if (step.type === 'receipt' && told.head !== null && told.failure === null) {
      told.text = fold.render(told.head, step.charge)
      if (run && !walk.isCutShort) {
        return keepAnswer(house, visit, run, JSON_TEXT, told.text.join(''))
      }
    }
    return undefined
  })
  const { failure, text } = told
  // Half an answer is no answer to a client that asked for a whole one.
  if (failure !== null) throw failure
  // Who was cut short by the gateway while the charge was committed has paid for all of it, and gets all of it.
  if (text === null || (walk.isCutShort && visit.request.signal.aborted)) {
    return new Response(null, { status: CLIENT_LEFT })
  }
  return new Response(toBody(text), { headers: headersFor(visit, JSON_TEXT) })
}

/** What a whole answer keeps of the steps of its walk. */
interface Told {
  head: AnswerHead | null
  failure: GatewayError | null
  text: readonly string[] | null
}
