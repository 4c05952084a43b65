/** POST /v1/chat/completions: what stands before the walk, and which of the two answers comes after it (contract §7). */

import type { AnswerHead } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Pay } from '#domain/idempotency.ts'
import type { Charge } from '#domain/ledger.ts'
import type { StepReader } from '#domain/walk.ts'
import { digest, expectBody, takeBody } from '../body.ts'
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
  const arrival = expectBody(visit.request, house.timings.bodyDeadlineMs)
  const body = takeBody(arrival, await arrival.read)
  const request = readChatRequest(body)
  visit.wantsImages = request.wantsImages
  visit.model = request.model
  if (isDryRun(visit.request.headers)) return await answerQuote(house, visit, key, request)

  let run: FirstRun | null = null
  if (idempotencyKey !== null) {
    const repeatable = { keyId: key.id, idempotencyKey, bodySha256: await digest(body.text) }
    const begun = await house.firstRuns.begin(repeatable, house.clock.now())
    if ('body' in begun) return await replay(house, visit, begun)
    run = begun
  }

  house.holdOpen(visit.request)
  const { requestId, arrivedAt } = visit
  const walk = house.running.start(house, { key, requestId, arrivedAt }, request, run?.over)
  // A picture that can be asked for again is drawn to its end, for whoever asks again.
  if (run === null || !request.wantsImages) house.hangUps.watch(visit, walk)
  try {
    if (request.stream) return await answerStream(house, visit, walk, run)
    const answer = new WholeAnswer(house, visit, walk, run)
    await walk.read(answer.read)
    return answer.render()
  } finally {
    if (!visit.streams) {
      house.hangUps.forget(visit)
      house.letIdle(visit.request)
    }
  }
}

/**
 * What a walk tells of a whole answer, which leaves after its receipt: its charge is committed (design §3). A class, because
 * every request has one.
 */
class WholeAnswer {
  private readonly house: CounterHouse
  private readonly visit: Visit
  private readonly walk: RunningWalk
  private readonly run: FirstRun | null
  private readonly fold = startFold()
  private head: AnswerHead | null = null
  private failure: GatewayError | null = null
  private text: readonly string[] | null = null

  constructor(house: CounterHouse, visit: Visit, walk: RunningWalk, run: FirstRun | null) {
    this.house = house
    this.visit = visit
    this.walk = walk
    this.run = run
  }

  readonly read: StepReader = (step) => {
    learn(this.visit, step, this.house.clock)
    if (step.type === 'opened') this.head = step.head
    else if (step.type === 'events') this.fold.note(step.events)
    else if (step.type === 'failed') this.failure = step.error
    else if (step.type === 'priced') return this.keep(step.charge, step.pay)
    else if (step.type === 'receipt' && this.failure === null) this.renderText(step.charge)
    return undefined
  }

  private async keep(charge: Charge, pay: Pay): Promise<void> {
    const text = this.renderText(charge)
    if (text && this.run) {
      await keepAnswer(this.house, this.visit, this.run, JSON_TEXT, text.join(''), pay)
    }
  }

  /** Null where nothing has come. */
  private renderText(charge: Charge): readonly string[] | null {
    this.text ??= this.head && this.fold.render(this.head, charge)
    return this.text
  }

  /** @throws what broke the upstream */
  render(): Response {
    const { visit, failure, text } = this
    // Half an answer is no answer to a client that asked for a whole one.
    if (failure !== null) throw failure
    // Who was cut short by the gateway while the charge was committed has paid for all of it, and gets all of it.
    if (text === null || (this.walk.isCutShort && visit.request.signal.aborted)) {
      return new Response(null, { status: CLIENT_LEFT })
    }
    return new Response(toBody(text), { headers: headersFor(visit, JSON_TEXT) })
  }
}
