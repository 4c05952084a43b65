/**
 * demo/flaky echoes, or fails as `user` says:
 *
 * | `user`     | what it does                                                  |
 * | ---------- | ------------------------------------------------------------- |
 * | `fail-502` | fails before the first word with this status; any 4xx or 5xx: |
 * |            | `fail-429` asks for 7 s of rest, `fail-401` blames the key    |
 * | `slow`     | first word after 2 s, then five words a second                |
 * | `stall`    | never answers, until the first-byte time-out                  |
 * | `cut`      | breaks off after half of the words, without a count           |
 * | `no-usage` | answers in full and never says what it counted                |
 *
 * Anything else is an echo, with its pace.
 */
import type { ChatEvents } from '#domain/chat.ts'
import { pause } from '#domain/clock.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { kindOfStatus } from '../failure.ts'
import { answerEcho } from './echo.ts'
import { type Pace, readPace } from './pace.ts'
import { everyChoice, lastUserText, speak, toWords } from './words.ts'

const SLOW: Pace = { delayMs: 2_000, gapMs: 200 }
const REST_SECONDS = 7

/** An error status and a stall come before any event, as with a real provider. @throws UpstreamFailure */
export async function answerFlaky(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
  const user = call.request.endUser ?? ''
  const status = Number(/\bfail-([45]\d\d)\b/.exec(user)?.[1] ?? 0)
  if (status > 0) throw toFailure(status)
  if (/\bstall\b/.test(user)) return await stall(call)
  if (/\bcut\b/.test(user)) return cut(call)
  if (/\bno-usage\b/.test(user)) return withoutUsage(call)
  return answerEcho(/\bslow\b/.test(user) ? slowed(call) : call)
}

function toFailure(status: number): UpstreamFailure {
  const kind = kindOfStatus(status)
  return new UpstreamFailure(kind, `demo/flaky was told to fail with ${status}`, {
    status,
    ...(kind === 'overloaded' && { retryAfterSeconds: REST_SECONDS }),
  })
}

const slowed = (call: UpstreamCall): UpstreamCall => ({
  ...call,
  request: { ...call.request, endUser: `delay-${SLOW.delayMs} rate-${1_000 / SLOW.gapMs}` },
})

async function stall(call: UpstreamCall): Promise<never> {
  await pause(call.timeouts.firstByteTimeoutMs, call.signal)
  throw new UpstreamFailure('timeout', 'it did not answer in time')
}

async function* cut(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
  const words = toWords(lastUserText(call.request))
  yield* speak(call, words.slice(0, Math.ceil(words.length / 2)), readPace(call.request.endUser))
  throw new UpstreamFailure('failed', 'the connection broke off')
}

async function* withoutUsage(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
  const words = toWords(lastUserText(call.request))
  yield* speak(call, words, readPace(call.request.endUser))
  yield everyChoice(call, (choice) => ({
    type: 'finish',
    choice,
    reason: 'stop',
    native: 'stop',
  }))
}
