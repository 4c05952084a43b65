/** The demo family: models in this process, without network, for a first trial, tests and load generation. */
import type { ChatEvents } from '#domain/chat.ts'
import { noEvents, type Upstream, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { requireGenerate } from '../rejected.ts'
import { answerEcho } from './echo.ts'
import { answerFlaky } from './flaky.ts'
import { answerImage } from './image.ts'
import { answerLorem } from './lorem.ts'

type Answer = AsyncIterable<ChatEvents> | Promise<AsyncIterable<ChatEvents>>

const MODELS: Readonly<Record<string, (call: UpstreamCall) => Answer>> = {
  echo: answerEcho,
  lorem: answerLorem,
  image: answerImage,
  flaky: answerFlaky,
}

/** Serves `echo`, `lorem`, `image` and `flaky`; one token is one word. */
export function openDemo(): Upstream {
  return {
    async ask(call) {
      const name = call.hop.card.upstreamName
      const answer = Object.hasOwn(MODELS, name) ? MODELS[name] : undefined
      if (answer === undefined) {
        throw new UpstreamFailure('rejected', `there is no demo model ${name}`, { status: 404 })
      }
      call.signal.throwIfAborted()
      const asked = withConversation(call)
      if (call.isDry) return noEvents()
      call.sending.isSent = true
      return answer(asked)
    },
  }
}

/** Reads the conversation now: the body is let go once the model is asked, and its words are counted later. */
function withConversation(call: UpstreamCall): UpstreamCall {
  const request = requireGenerate(call.request)
  const conversation = request.conversation()
  return { ...call, request: { ...request, conversation: () => conversation } }
}
