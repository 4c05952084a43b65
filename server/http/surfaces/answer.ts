/** Answers a request of any surface: the checks before the walk, and the streamed or non-streamed answer (contract §7). */
import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Repeat } from '#domain/idempotency.ts'
import type { Charge } from '#domain/ledger.ts'
import { holdsSecret } from '#domain/secret.ts'
import { AnswerKept, runWalk } from '#domain/walk/completion.ts'
import { type StepReader, Walk } from '#domain/walk/walk.ts'
import type { Work } from '#domain/work.ts'
import { findCaller, rejectWholeKey, requireOrdinary } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { digest, readBody } from '../read/body.ts'
import { shuttingDown } from '../render-error.ts'
import { JSON_TEXT, type RequestContext, respond, toBody } from '../request-context.ts'
import { answerQuote } from './answer-quote.ts'
import { answerStream } from './answer-stream.ts'
import { replay, toAnswer } from './replay.ts'
import type { Rendered, Surface, WholeRenderer } from './surface.ts'

export async function answerWork(
  deps: ApiDeps,
  context: RequestContext,
  surface: Surface,
): Promise<Response> {
  const caller = requireOrdinary(await findCaller(deps, context))
  if (deps.leaving.isDraining) throw shuttingDown()
  const { headers } = context.request
  const idempotencyKey = readIdempotencyKey(headers)
  const isDryRun = readDryRun(headers)
  const body = await readBody(context, deps.timings.bodyDeadlineMs)
  // It may have come slowly.
  if (deps.leaving.isDraining) throw shuttingDown()
  const read = surface.readRequest(body, headers)
  const session = readSession(body.fields, headers)
  const request = session === undefined ? read : { ...read, session }
  context.model = request.model
  if (isDryRun) return await answerQuote(deps, caller, request)

  const repeat: Repeat | null =
    idempotencyKey === null
      ? null
      : { key: idempotencyKey, digest: await digest(named(body.text, request)) }

  context.disableIdleTimeout()
  const walk = new Walk(deps, caller, request, repeat)
  context.walk = walk
  // A repeatable image request runs to its end even after a disconnect, so that a repetition gets the image.
  if (repeat === null || !request.wantsImages) walk.client = context.request
  deps.running.add(walk)
  try {
    if (request.stream) return await answerStream(deps, context, walk, surface)
    const answer = new WholeAnswer(context, walk, surface)
    await runWalk(walk, answer)
    return answer.render()
  } catch (thrown) {
    if (!(thrown instanceof AnswerKept)) throw thrown
    // A kept answer is read for minutes, the body no more.
    request.source?.letGo()
    return await replay(deps, context, thrown.answer)
  } finally {
    if (!context.streams) context.restoreIdleTimeout()
  }
}

/** Of two surfaces, one body is not the same request. */
const named = (text: string, { dialect }: Work): string =>
  dialect === 'chat' ? text : `${dialect}\n${text}`

/**
 * Reads a walk for a non-streamed answer, which is sent after the receipt, when its charge is committed. A class, because every
 * request has one.
 */
class WholeAnswer implements StepReader {
  private readonly context: RequestContext
  private readonly walk: Walk
  private readonly fold: WholeRenderer
  private failure: GatewayError | null = null
  /** Rendered before its charge only where it is to be kept. */
  private text: Rendered | null = null

  constructor(context: RequestContext, walk: Walk, surface: Surface) {
    this.context = context
    this.walk = walk
    this.fold = surface.startWhole(walk.request)
  }

  // It never lets the walk wait.
  admitted(): undefined {
    this.context.generation = this.walk
    this.context.quota = this.walk.quota
  }

  opened(): undefined {
    this.context.taken?.dropBody()
  }

  events(events: ChatEvents): undefined {
    this.fold.note(events)
  }

  priced(charge: Charge): undefined {
    this.text = this.renderText(charge)
    if (this.text) this.walk.answer = toAnswer(JSON_TEXT, this.text)
  }

  failed(error: GatewayError): undefined {
    this.failure = error
  }

  receipt(): undefined {}

  left(): void {}

  /** Null before the upstream has answered. */
  private renderText(charge: Charge): Rendered | null {
    const { head } = this.walk
    return head && this.fold.render(head, charge)
  }

  /** @throws the upstream's failure */
  render(): Response {
    const { context, walk, failure } = this
    // A partial answer is an error for a client that did not request a stream.
    if (failure !== null) throw failure
    const text = this.text ?? (walk.charge && this.renderText(walk.charge))
    // If the gateway aborted while the charge was being committed, the client has paid for the whole answer, and gets it.
    if (text === null || context.request.signal.aborted) {
      context.taken?.release()
      return new Response(null, { status: CLIENT_CLOSED_REQUEST })
    }
    return respond(context, JSON_TEXT, toBody(text, context.taken))
  }
}

const IDEMPOTENCY_KEY = 'Idempotency-Key'
const DRY_RUN = 'X-Gateway-Dry-Run'

export const PRINTABLE = /^[ -~]{1,255}$/

/** By which the client may repeat the request; null without the header. @throws invalid_request */
function readIdempotencyKey(headers: Headers): string | null {
  const stated = headers.get(IDEMPOTENCY_KEY)
  if (stated === null) return null
  if (!PRINTABLE.test(stated)) throw refused(IDEMPOTENCY_KEY, '1 to 255 printable ASCII characters')
  rejectWholeKey(stated, IDEMPOTENCY_KEY)
  return stated
}

/**
 * Whether only the verdict is wanted, and no answer. A value but these two is rejected, so that a misspelt one does not cost
 * money. @throws invalid_request
 */
function readDryRun(headers: Headers): boolean {
  const word = headers.get(DRY_RUN)?.trim().toLowerCase() ?? 'false'
  if (word !== 'true' && word !== 'false') throw refused(DRY_RUN, 'true or false')
  return word === 'true'
}

const refused = (param: string, wanted: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: send ${wanted}`, { param })

/** The session that a client names: a conversation, or a run of an agent. It keeps the requests of one together, and nothing else. */
const readSession = (fields: JsonObject, headers: Headers): string | undefined =>
  toSession(fields['prompt_cache_key']) ??
  toSession(headers.get('x-claude-code-session-id')) ??
  toSession(headers.get('session-id'))

/** What is not 1 to 255 printable ASCII characters, or may be a secret, is not kept, and refuses nothing. */
const toSession = (named: unknown): string | undefined =>
  typeof named === 'string' && PRINTABLE.test(named) && !holdsSecret(named) ? named : undefined
