// Folding events into a whole answer: the optimized fold gives the same result as a naive one, whatever the events.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnswerHead, ChatEvent, JsonObject } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { RubMicros, RubPerUsd, UsdAttos, UsdNanos } from '#domain/money.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { AnswerFold, renderUsage } from '#http/surfaces/chat/render-whole.ts'
import { FULL } from '#test/support/tier.ts'

const HEAD: AnswerHead = {
  isNative: false,
  id: 'gen-1',
  createdUnixSeconds: 1_800_000_000,
  model: 'mock/"quoted"',
  provider: 'mock',
}

const CHARGE: Charge = {
  amount: 54_000n as UsdNanos,
  rubPerUsd: 92_500_000n as RubPerUsd,
  costRub: 4_995n as RubMicros,
  priceVersion: 'price_1',
  usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 20 },
  modifiers: [],
  source: 'provider',
  parts: {
    prompt: 18_000_000_000_000n as UsdAttos,
    completion: 36_000_000_000_000n as UsdAttos,
    images: 0n as UsdAttos,
    tools: 0n as UsdAttos,
  },
}

const words = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', '\n', 'é', '🙂', '\ud800') })
const choice = fc.constantFrom(0, 0, 0, 0, 1, 2, 700)
const fields = fc.dictionary(
  fc.constantFrom('id', 'system_fingerprint', 'annotations', 'content', 'images', 'usage'),
  fc.oneof(words, fc.integer(), fc.constant(null)),
)
const choiceFields = fc.dictionary(
  fc.constantFrom('content_filter_results', 'stop_reason'),
  fc.oneof(words, fc.integer()),
)
const logprobs = fc.constantFrom({}, { logprobs: null }, { logprobs: { content: [1] } })
const maybe = (name: string) =>
  fc.oneof(
    fc.constant({}),
    words.map((text) => ({ [name]: text })),
  )

const event: fc.Arbitrary<ChatEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: join(fc.record({ type: fc.constant('text-delta'), choice, text: words }), logprobs),
  },
  join(fc.record({ type: fc.constant('refusal-delta'), choice, text: words }), logprobs),
  fc.record({ type: fc.constant('reasoning-delta'), choice, text: words }),
  fc.record({
    type: fc.constant('image'),
    choice,
    url: words.map((text) => `data:image/png;base64,${text}`),
  }),
  fc.record({ type: fc.constant('message-fields'), choice, fields }),
  fc.record({ type: fc.constant('choice-fields'), choice, fields: choiceFields }),
  fc.record({ type: fc.constant('answer-fields'), fields }),
  fc.record({
    type: fc.constant('finish'),
    choice,
    reason: fc.constantFrom('stop', 'length'),
    native: words,
  }),
  fc.record({ type: fc.constant('usage'), usage: fc.constant(null) }),
  join(
    fc.record({
      type: fc.constant('tool-call-delta'),
      choice,
      index: fc.nat(2),
      kind: fc.constantFrom('function', 'custom'),
      arguments: words,
    }),
    maybe('id'),
    maybe('name'),
    fc.oneof(fc.constant({}), fc.record({ fields })),
  ),
) as fc.Arbitrary<ChatEvent>

function join(...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<object> {
  return fc.tuple(...parts).map((made) => Object.assign({}, ...made))
}

test('the text of every event is in the answer, in its place', () => {
  fc.assert(
    fc.property(fc.array(fc.array(event), { maxLength: 5 }), (batches) => {
      const fold = new AnswerFold()
      for (const batch of batches) fold.note(batch)
      const said = fold.render(HEAD, CHARGE).join('')
      expect(JSON.parse(said)).toEqual(readPlainly(batches.flat()))
    }),
    { numRuns: FULL ? 2_000 : 200 },
  )
})

test('an ordinary answer has each field once, in the order of the contract', () => {
  const fold = new AnswerFold()
  fold.note([{ type: 'text-delta', choice: 0, text: 'Hello' }])
  fold.note([{ type: 'finish', choice: 0, reason: 'stop', native: 'end_turn' }])
  expect(fold.render(HEAD, CHARGE)).toEqual([
    `{"id":"gen-1","object":"chat.completion","created":1800000000,"model":"mock/\\"quoted\\"","provider":"mock",` +
      `"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"logprobs":null,"finish_reason":"stop",` +
      `"native_finish_reason":"end_turn"}],"usage":${JSON.stringify(renderUsage(CHARGE))}}`,
  ])
})

/** The same fold, event by event and without optimization. */
function readPlainly(events: readonly ChatEvent[]): JsonObject {
  const of = (index: number) => events.filter((e) => 'choice' in e && e.choice === index)
  const indices = events.flatMap((e) => ('choice' in e ? [e.choice] : []))
  const own = { id: HEAD.id, object: 'chat.completion', created: HEAD.createdUnixSeconds }
  const said = events.flatMap((e) => (e.type === 'answer-fields' ? [e.fields] : []))
  return {
    ...Object.assign({}, ...said),
    ...own,
    model: HEAD.model,
    provider: HEAD.provider,
    choices: [...new Set(indices.length > 0 ? indices : [0])]
      .sort((a, b) => a - b)
      .map((index) => readChoice(index, of(index))),
    usage: renderUsage(CHARGE),
  }
}

function readChoice(index: number, events: readonly ChatEvent[]): JsonObject {
  const textOf = (type: ChatEvent['type']) =>
    events.map((e) => (e.type === type && 'text' in e ? e.text : '')).join('')
  const [text, refusal, reasoning] = [
    textOf('text-delta'),
    textOf('refusal-delta'),
    textOf('reasoning-delta'),
  ]
  const calls = readCalls(events)
  const images = events.flatMap((e) => (e.type === 'image' ? [e.url] : []))
  const finish = events.findLast((e) => e.type === 'finish')
  const content = events.flatMap((e) =>
    'logprobs' in e && e.logprobs ? (e.logprobs as { content: number[] }).content : [],
  )
  return {
    index,
    message: {
      ...Object.assign({}, ...events.map((e) => (e.type === 'message-fields' ? e.fields : {}))),
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(refusal !== '' && { refusal }),
      ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(images.length > 0 && {
        images: images.map((url, at) => ({ type: 'image_url', image_url: { url }, index: at })),
      }),
    },
    logprobs: content.length > 0 ? { content } : null,
    finish_reason: finish?.reason ?? 'stop',
    native_finish_reason: finish?.native ?? null,
    ...Object.assign({}, ...events.map((e) => (e.type === 'choice-fields' ? e.fields : {}))),
  }
}

function readCalls(events: readonly ChatEvent[]): readonly JsonObject[] {
  const deltas = events.filter((e) => e.type === 'tool-call-delta')
  const indices = [...new Set(deltas.map(({ index }) => index))].sort((a, b) => a - b)
  return indices.map((index) => {
    const mine = deltas.filter((delta) => delta.index === index)
    const id = mine.find((delta) => delta.id !== undefined)?.id
    const name = mine.find((delta) => delta.name !== undefined)?.name
    const kind = mine[0]?.kind
    const input = mine.map((delta) => delta.arguments).join('')
    const named = { ...(name !== undefined && { name }) }
    return {
      ...Object.assign({}, ...mine.map((delta) => delta.fields ?? {})),
      // A provider’s field of the same name does not appear when the gateway never set it.
      id,
      type: kind,
      ...(kind === 'function'
        ? { function: { ...named, arguments: input } }
        : { custom: { ...named, input } }),
    }
  })
}
