/** Clients of the soak: each asks, waits a moment and asks again, and compares the answer with what it asked for. */
import type { Chance } from './chance.ts'
import type { Findings } from './findings.ts'
import type { SoakKey } from './keys.ts'
import type { Life } from './life.ts'
import { drawPlan, type Plan, type PlanKind, renderPlan } from './plan.ts'
import { WIRES } from './wires.ts'

export interface ClientContext {
  readonly life: () => Life | undefined
  readonly keys: readonly SoakKey[]
  readonly findings: Findings
  /** Of one client, between an answer and its next question. */
  readonly pauseMs: number
  readonly isOver: () => boolean
  /** Whether a node may have no store just now, and others may have ended it; never, unless told. */
  readonly isTroubled?: (life: Life) => boolean
}

interface Question {
  readonly model: string
  readonly others: readonly string[]
  readonly stream: boolean
  readonly plan: Plan
  readonly key: SoakKey
  /** When it hangs up, whatever came by then; null where it stays. */
  readonly leavesAfterMs: number | null
  readonly endUser: string | null
  /** With one it is asked twice, and may be answered once. */
  readonly idempotencyKey: string | null
}

const MODELS = Object.keys(WIRES).map((name) => `${name}/m`)
const TEXT_MODELS = MODELS.filter((model) => model !== 'images/m')
const DOWN_MS = 20

/** Sends requests until the run is over; the same seed sends the same requests. */
export async function runClient(context: ClientContext, chance: Chance): Promise<void> {
  while (!context.isOver()) {
    const question = draw(chance, context.keys)
    await Bun.sleep(chance.exponential(context.pauseMs))
    while (context.life() === undefined && !context.isOver()) await Bun.sleep(DOWN_MS)
    const life = context.life()
    if (life === undefined) continue
    const first = await ask(context, life, question)
    if (question.idempotencyKey === null) continue
    const other = context.life() ?? life
    const again = await ask(context, other, question)
    if (first === null || again === null || first === again) continue
    if ([life, other].some((one) => context.isTroubled?.(one)))
      context.findings.count('answered twice under one Idempotency-Key, by a node that was ended')
    else context.findings.violation(`${first} and ${again} were answered under one Idempotency-Key`)
  }
}

function draw(chance: Chance, keys: readonly SoakKey[]): Question {
  const model = MODELS[chance.pick(MODELS.length)] ?? 'openai/m'
  const plan = drawPlan(chance)
  const stream = chance.draw() < 0.6 && model !== 'images/m'
  const other = TEXT_MODELS[chance.pick(TEXT_MODELS.length)] ?? 'openai/m'
  const mayFallBack = chance.draw() < 0.1 && model !== 'images/m' && other !== model
  const place = chance.draw()
  const key = keys[place < 0.6 ? 0 : Math.floor(((place - 0.6) / 0.4) * keys.length)]
  if (!key) throw new Error('no key')
  const staysMs = chance.exponential(600)
  // An image that may be asked for again is waited for when nobody listens any more.
  const isEndless = model === 'images/m' && (plan.kind === 'mute' || plan.kind === 'freeze')
  const leaves = chance.draw() < 0.12 || plan.kind === 'mute' || plan.kind === 'freeze'
  return {
    model,
    others: mayFallBack ? [other] : [],
    stream,
    plan,
    key,
    leavesAfterMs: leaves ? staysMs : null,
    endUser: chance.draw() < 0.3 ? `user-${chance.pick(50)}` : null,
    idempotencyKey: chance.draw() < 0.1 && !isEndless ? `once-${chance.draw()}` : null,
  }
}

const render = ({ model, others, stream, plan, endUser }: Question): string =>
  JSON.stringify({
    model,
    ...(others.length > 0 && { models: others }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...(endUser !== null && { user: endUser }),
    ...(model === 'images/m' && { modalities: ['image'] }),
    messages: [
      { role: 'user', content: `${renderPlan(plan)} ${'Why does it balance? '.repeat(20)}` },
    ],
  })

/** What came of one question. */
interface Outcome {
  readonly status: number
  readonly code: string | null
  readonly generationId: string | null
  /** To its very last byte, and a success. */
  readonly isWhole: boolean
  readonly text: string
}

/** What it was answered by to its very last byte; null where it was not. */
async function ask(context: ClientContext, life: Life, question: Question): Promise<string | null> {
  const { findings } = context
  const { key } = question
  const askedMs = performance.now()
  const aborter = new AbortController()
  const timer =
    question.leavesAfterMs === null
      ? undefined
      : setTimeout(() => aborter.abort(), question.leavesAfterMs)
  findings.count('asked')
  try {
    const response = await fetch(`${life.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key.secret}`,
        'content-type': 'application/json',
        ...(question.idempotencyKey !== null && { 'idempotency-key': question.idempotencyKey }),
      },
      body: render(question),
      signal: aborter.signal,
      keepalive: question.plan.chunks % 2 === 0,
    })
    const outcome = readOutcome(response, await response.text(), question)
    judge(context, life, question, askedMs, outcome)
    return outcome.isWhole && outcome.code === null ? outcome.generationId : null
  } catch (cause) {
    if (aborter.signal.aborted) findings.count('left by their client')
    else if (life.endedBy !== undefined) findings.count('cut off by an end of a life')
    else findings.unexplained(`${describe(question)}: ${cause}`)
    return null
  } finally {
    clearTimeout(timer)
  }
}

function readOutcome(response: Response, text: string, { stream }: Question): Outcome {
  const { status, headers } = response
  const isStream = stream && status === 200
  const isWhole = isStream ? text.endsWith('data: [DONE]\n\n') : status === 200 && isJson(text)
  const code = /"code":\s*"([a-z_]+)"/.exec(text)?.[1] ?? null
  return {
    status,
    code: status === 200 && isWhole && !/"error":/.test(text) ? null : code,
    generationId: headers.get('x-generation-id'),
    isWhole,
    text,
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function judge(
  context: ClientContext,
  life: Life,
  question: Question,
  askedMs: number,
  outcome: Outcome,
): void {
  const { findings } = context
  const { key, plan, model } = question
  if (outcome.status === 200 && key.revokedMs !== null && key.revokedMs < askedMs) {
    findings.violation(`${key.id} was answered after it had been revoked`)
  }
  // A stream whose head has left may still fail before its first word, which costs nothing.
  const isAnswered =
    outcome.isWhole && (outcome.code === null || /"content":"[^"]/.test(outcome.text))
  if (isAnswered && outcome.generationId !== null) {
    const isCounted = plan.kind === 'answer' && outcome.code === null && model !== 'images/m'
    findings.answered(outcome.generationId, isCounted)
  }
  if (isExplained(context, question, outcome, life)) findings.count(toHeading(outcome))
  else findings.unexplained(`${describe(question)}: ${outcome.status} ${outcome.text.slice(-300)}`)
}

const toHeading = ({ status, code }: Outcome): string =>
  code === null ? `${status}` : `${status} ${code}`

/** By what a key may be kept from being served. */
const BY_KEY = /^(api_key_\w+|invalid_api_key)$/
const BY_LIMIT =
  /^(rate_limit_exceeded|concurrency_limit_exceeded|spend_reserved|daily_spend_limit_exceeded)$/
const BY_UPSTREAM =
  /^(upstream_error|upstream_overloaded|upstream_timeout|no_image_returned|no_route_available)$/
const PLAIN: ReadonlySet<PlanKind> = new Set(['answer', 'uncounted'])

function isExplained(
  { isTroubled }: ClientContext,
  { key, plan, idempotencyKey }: Question,
  { status, code, isWhole }: Outcome,
  life: Life,
): boolean {
  if (status === 200 && isWhole && code === null) return plan.kind !== 'cut' || plan.at > 0
  if (code === null) return life.endedBy !== undefined
  // Before its first word: nobody who is being answered is cut off.
  if (code === 'store_unavailable') return status === 503 && isTroubled?.(life) === true
  if (code === 'idempotency_conflict') return idempotencyKey !== null
  if (code === 'shutting_down') return life.endedBy === 'SIGTERM'
  if (BY_KEY.test(code)) return key.isTouched
  if (BY_LIMIT.test(code)) return !key.isWide
  return BY_UPSTREAM.test(code) && !PLAIN.has(plan.kind)
}

const describe = ({ model, stream, plan, key, others }: Question): string =>
  `${model}${others.length > 0 ? ` or ${others.join()}` : ''} ${stream ? 'streamed' : 'whole'} ` +
  `${renderPlan(plan)} by ${key.id}`
