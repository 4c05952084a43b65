/** Tests a provider: lists its models, or requests a completion of one token, or of the least that its API takes. Nothing is charged to an account. */
import { type Clock, type Instant, later, readHttpDate } from '#domain/clock.ts'
import type { Conversation } from '#domain/conversation.ts'
import { isAskedInResponses } from '#domain/hop.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { ModelKind } from '#domain/model-kind.ts'
import type { Probe, ProbeAnswer } from '#domain/probe.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { completionTokens, NO_USAGE, promptTokens, type Usage } from '#domain/usage.ts'
import { NOT_GENERATED, type Work } from '#domain/work.ts'
import { toEndpoint as toAnthropic } from './anthropic/endpoint.ts'
import { readBaseAddress } from './base-address.ts'
import { bedrockLists } from './bedrock/list.ts'
import { toHeaders } from './call.ts'
import { toEndpoint as toCohere } from './cohere/endpoint.ts'
import { toEndpoint as toGemini } from './gemini/endpoint.ts'
import { openPost } from './http1/post.ts'
import { toEndpoint as toOpenAi } from './openai/endpoint.ts'
import { readProblem } from './openai/read-problem.ts'
import { openUpstream } from './registry.ts'
import { type List, requestText, type TextReply } from './request-text.ts'
import { createScrub } from './scrub.ts'
import { vertexLists } from './vertex/list.ts'

const LIST_TIMEOUT_MS = 15_000
const COMPLETION_TIMEOUT_MS = 45_000
const MAX_LIST_BYTES = 16 * 1_024 * 1_024

export function createProbe(clock: Clock): Probe {
  let last: ReturnType<Probe['lastSkew']> = null
  return {
    lastSkew: () => last,
    async listModels(provider, credential, withinMs = LIST_TIMEOUT_MS) {
      const answer = await timed(clock, () => list(clock, provider, credential, withinMs))
      if (answer.skewMs !== null) last = { provider: provider.name, skewMs: answer.skewMs }
      return answer
    },
    askModel: (provider, credential, card) =>
      timed(clock, () => requestCompletion(provider, credential, card, clock)),
  }
}

type Untimed = Omit<ProbeAnswer, 'ms'>

async function timed(clock: Clock, ask: () => Promise<Untimed>): Promise<ProbeAnswer> {
  const startedMs = clock.monotonicMs()
  const answer = await ask().catch(
    (thrown: unknown): Untimed => ({ ...NO_ANSWER, ...describeFailure(thrown) }),
  )
  return { ...answer, ms: clock.monotonicMs() - startedMs }
}

const NO_ANSWER: Untimed = {
  ok: false,
  status: null,
  models: null,
  message: null,
  skewMs: null,
  tokens: null,
}

function describeFailure(thrown: unknown): Pick<Untimed, 'message' | 'status'> {
  if (thrown instanceof UpstreamFailure) {
    const { message, details, kind } = thrown
    return { message: `${kind}: ${message}`, status: details.status ?? null }
  }
  const { name, code, message } = readObject(thrown) as { [field: string]: unknown }
  if (name === 'TimeoutError') return { message: 'no answer in time', status: null }
  return { message: `no answer: ${String(code ?? message ?? thrown)}`, status: null }
}

async function list(
  clock: Clock,
  provider: Provider,
  credential: string | null,
  withinMs: number,
): Promise<Untimed> {
  if (PROVIDER_PRESETS[provider.type].family === 'demo') return { ...NO_ANSWER, ok: true }
  const [first, ...further] = toLists(provider, credential, clock)
  const signal = AbortSignal.timeout(withinMs)
  const { url } = first
  const { status, headers, text: body } = await fetchList(first, signal)
  const serverTime = readHttpDate(headers.get('date') ?? '')
  const seen = {
    ...NO_ANSWER,
    status,
    skewMs: serverTime === undefined ? null : skewOf(serverTime, clock),
  }
  if (status >= 200 && status < 300) {
    const more = await Promise.all(further.map((one) => fetchList(one, signal)))
    return { ...seen, ok: true, models: joinModels([body, ...more.map(({ text }) => text)]) }
  }
  // Servers with a single model often have no list; then only a completion can check the credential.
  if (status === 404 || status === 405) {
    return { ...seen, ok: true, message: 'it answers, but lists no models: key not checked' }
  }
  const scrub = createScrub('', credential)
  const words = scrub(readProblem(body).message ?? '')
  return { ...seen, message: `${status} from ${url.host}${words === '' ? '' : `: ${words}`}` }
}

/** The Date header is truncated to whole seconds; half a second is added as the best estimate. */
const skewOf = (serverTime: Instant, clock: Clock): number => later(serverTime, 500) - clock.now()

const fetchList = ({ post, headers }: List, signal: AbortSignal): Promise<TextReply> =>
  requestText(post, { headers, body: '' }, signal, MAX_LIST_BYTES)

/** The lists of its models; a cloud has more than one. @throws UpstreamFailure */
function toLists(
  provider: Provider,
  credential: string | null,
  clock: Clock,
): readonly [List, ...List[]] {
  switch (PROVIDER_PRESETS[provider.type].cloud) {
    case 'aws':
      return bedrockLists(provider, credential, clock)
    case 'google':
      return vertexLists(provider, credential, clock)
    default: {
      const { url, headers } = toList(provider, credential)
      return [{ url, headers, post: openPost(url.href, 'GET') }]
    }
  }
}

/** The URL of the models list, with the largest page size where the list is paged. */
function toList(provider: Provider, credential: string | null) {
  const url = readBaseAddress(provider)
  const base = url.pathname.replace(/\/(?:chat\/completions|messages)$/, '')
  url.pathname = `${base}/models`
  const headers = toHeaders(authOf(provider, credential)).whole
  switch (PROVIDER_PRESETS[provider.type].family) {
    case 'anthropic':
      url.searchParams.set('limit', '1000')
      break
    case 'cohere':
      url.pathname = new URL(toCohere(provider, credential).address('/v1/models')).pathname
      break
    case 'gemini':
      url.searchParams.set('pageSize', '1000')
      break
    default:
  }
  return { url, headers }
}

function authOf(provider: Provider, credential: string | null): Readonly<Record<string, string>> {
  const { family } = PROVIDER_PRESETS[provider.type]
  if (family === 'anthropic') return toAnthropic(provider, credential).auth
  return family === 'gemini'
    ? toGemini(provider, credential).auth
    : toOpenAi(provider, credential).auth
}

/** Null where none of them is a list. */
function joinModels(bodies: readonly string[]): readonly string[] | null {
  const lists = bodies.map(readModels).filter((list) => list !== null)
  return lists.length === 0 ? null : lists.flat()
}

/** Where a list has its models. Some servers send a bare array. */
const LISTS = ['data', 'models', 'modelSummaries', 'inferenceProfileSummaries', 'publisherModels']

/** Gemini's names are `models/…`, those of Vertex AI `publishers/…/models/…`. */
function readModels(body: string): readonly string[] | null {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return null
  }
  const object = readObject(parsed)
  const entries = Array.isArray(parsed)
    ? parsed
    : LISTS.map((name) => object[name]).find((list) => Array.isArray(list))
  if (!Array.isArray(entries)) return null
  return readList(entries).flatMap((entry) => {
    const { id, name, modelId, inferenceProfileId } = isObject(entry) ? entry : {}
    const found =
      readText(id) ?? readText(modelId) ?? readText(inferenceProfileId) ?? readText(name)
    return found === undefined ? [] : [found.replace(/^(?:publishers\/[^/]+\/)?models\//, '')]
  })
}

const GREETING: Conversation = {
  turns: [{ role: 'user', path: '', parts: [{ type: 'text', path: '', text: 'hi' }] }],
  tools: [],
  parallelToolCalls: true,
  sampling: {},
  stop: [],
  drawing: { withText: false },
  safetySettings: [],
  chatOnly: [],
}

async function requestCompletion(
  provider: Provider,
  credential: string | null,
  card: ModelCard,
  clock: Clock,
): Promise<Untimed> {
  const hop = { card, provider, credential: null }
  const events = await openUpstream(provider, credential, clock).ask({
    hop,
    maxOutputTokens: isAskedInResponses(hop) ? LEAST_IN_RESPONSES : 1,
    requestId: 'req_probe',
    timeouts: DEFAULT_SETTINGS,
    sending: { isSent: false },
    signal: AbortSignal.timeout(COMPLETION_TIMEOUT_MS),
    request: WORK[card.kind](card.id),
  })
  let usage: Usage = NO_USAGE
  for await (const some of events) {
    for (const event of some) if (event.type === 'usage' && event.usage) usage = event.usage
  }
  const tokens = { input: promptTokens(usage), output: completionTokens(usage) }
  return { ...NO_ANSWER, ok: true, status: 200, tokens }
}

/** A lower bound is refused there. */
const LEAST_IN_RESPONSES = 16

/** The least that a model of each kind can be asked. */
const WORK: Readonly<Record<ModelKind, (model: string) => Work>> = {
  generate: (model) => ({
    ...asked(model),
    kind: 'generate',
    dialect: 'chat',
    body: { model, messages: [{ role: 'user', content: 'hi' }] },
    conversation: () => GREETING,
    includeUsage: true,
    maxOutputTokens: 1,
  }),
  embed: (model) => ({
    ...asked(model),
    kind: 'embed',
    dialect: 'embeddings',
    body: { model, input: 'hi' },
    input: ['hi'],
    tokens: 1,
    longestTokens: 1,
    encodingFormat: null,
    dimensions: null,
  }),
  rerank: (model) => ({
    ...asked(model),
    kind: 'rerank',
    dialect: 'rerank',
    body: { model, query: 'hi', documents: ['hi'] },
    query: 'hi',
    documents: ['hi'],
    top: 1,
    isTopStated: false,
    shape: 'cohere',
    returnsDocuments: false,
    mostSearchUnits: 1,
    searchUnits: 1,
  }),
}

const asked = (model: string) => ({
  ...NOT_GENERATED,
  model,
  endUser: null,
  textBytes: 100,
  allowFallbacks: false,
})
