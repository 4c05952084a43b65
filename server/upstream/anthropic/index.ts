/** The Anthropic family: the Messages API. */
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import { isNative } from '#domain/hop.ts'
import type { Provider } from '#domain/provider.ts'
import { type Upstream, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { type Outgoing, performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { DIRECT, type Reach } from '../reach.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { ToolNames } from '../tool-names.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { answerWire, countWire } from './native/wire.ts'
import { readAs } from './read-as.ts'
import type { AskedHeaders, MessagesServer } from './server.ts'
import { toRequest } from './to-request.ts'

/** @throws UpstreamFailure when the base URL is not http or https */
export const openAnthropic = (
  provider: Provider,
  credential: string | null,
  reach: Reach = DIRECT,
): Upstream => openMessages(anthropicServer(provider, credential, reach))

/** An upstream of any server of the Messages API. */
export function openMessages(server: MessagesServer): Upstream {
  const { scrub, counting } = server
  const wire: Omit<Wire, 'toOutgoing'> = {
    toFailure: (answer) => server.toFailure(answer),
    startStream: (contentType, asked) => readAs(server, contentType, asked, startStream),
    fromBody: (body) => ({ events: fromResponse(body, scrub), failure: null }),
  }
  const generate = async (call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> => {
    const names = new ToolNames()
    const asked: Wire = { ...wire, toOutgoing: (one) => translate(one, server, names) }
    return names.restore(await performCall(asked, call))
  }
  const native = answerWire(server)
  const counter = counting && countWire(counting)
  return {
    ask: (call) =>
      isNative(call.hop, call.request.dialect) ? performCall(native, call) : generate(call),
    ...(counter && { count: (call) => readCount(call, counter) }),
  }
}

/** The request of another dialect's client. @throws UpstreamFailure `rejected` */
function translate(call: UpstreamCall, server: MessagesServer, names: ToolNames): Outgoing {
  const sent = toRequest(call, names)
  const asked = sent.speed === 'fast' ? FAST : undefined
  const body: Record<string, unknown> = { ...sent, ...server.membersOf(call, asked) }
  for (const name of server.cut) delete body[name]
  return toOutgoing(call, server.postFor(call), server.headersWith(asked), JSON.stringify(body))
}

/** Some models refuse a speed without it. */
const FAST: AskedHeaders = { 'anthropic-beta': 'fast-mode-2026-02-01' }

async function readCount(call: UpstreamCall, wire: Wire): Promise<string> {
  for await (const [answer] of await performCall(wire, call)) {
    if (answer?.type === 'native') return answer.text
  }
  throw new UpstreamFailure('failed', 'it answered with nothing')
}

function anthropicServer(
  provider: Provider,
  credential: string | null,
  reach: Reach,
): MessagesServer {
  const { url, host, auth: ofProvider } = toEndpoint(provider, credential)
  const post = reach.open(url)
  const counting = reach.open(`${url}/count_tokens`)
  const auth = { ...ofProvider, ...reach.auth }
  const own = toHeaders(auth)
  const fast = toHeaders({ ...auth, ...FAST })
  const scrub = createScrub(host, credential ?? reach.secret)
  const server: MessagesServer = {
    scrub,
    postFor: () => post,
    headersWith(asked) {
      if (asked === undefined) return own
      if (asked === FAST) return fast
      return { whole: { ...own.whole, ...asked }, stream: { ...own.stream, ...asked } }
    },
    membersOf: ({ hop }): JsonObject => ({ model: hop.card.upstreamName }),
    cut: [],
    toFailure: (answer) => toFailure(answer, scrub),
  }
  return { ...server, counting: { ...server, postFor: () => counting } }
}

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), headers, scrub)
}
