// Every recorded answer of another wire, asked for through the Responses API: OpenAI's own client takes it, whole, in pieces and cut.
import { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bytesOf, truthOf } from '#test/acceptance/recordings/truth.ts'
import { recordings } from '#test/support/replay.ts'
import { FULL } from '#test/support/tier.ts'
import { checkOrder, readEvents, type Wire } from './read-events.ts'
import { answers, openReplayed, type Replayed, type ReplayedGateway } from './replayed.ts'

const list = answers()
const good = list.filter(({ response }) => response.status === 200)
const place = (one: Replayed): number => list.indexOf(one)
const body = (one: Replayed) => ({ model: `r${place(one)}/m`, input: 'hi' })

/** What an application reads of it. */
function said(output: readonly Wire[]) {
  const of = (type: string, field: string, words: string): string =>
    output
      .flatMap((item) => item[field] ?? [])
      .filter((part: Wire) => part.type === type)
      .map((part: Wire) => part[words])
      .join('')
  return {
    text: of('output_text', 'content', 'text'),
    refusal: of('refusal', 'content', 'refusal'),
    reasoning: of('summary_text', 'summary', 'text'),
    calls: output
      .filter(({ type }) => type === 'function_call')
      .map(({ name, arguments: text }) => ({ name, arguments: text })),
  }
}

const MAX_BYTES = FULL ? 200_000 : 2_500

describe.skipIf(list.length === 0)('a recorded answer', () => {
  let setup: ReplayedGateway
  beforeAll(async () => {
    setup = await openReplayed(list)
  }, 60_000)
  afterAll(async () => await setup?.close())

  /** By an independent reading of the recording; null where that has no word for it. */
  const truth = (one: Replayed) => {
    const recording = recordings().find(({ name }) => name === one.name)
    return recording ? truthOf(recording) : null
  }

  const streams = good.filter(({ stream }) => stream)
  test.each(streams)('$name is a stream in the order of the API', async (one) => {
    const small = bytesOf(one.response).length <= MAX_BYTES
    const texts: Wire[] = []
    for (const size of small ? [undefined, 1] : [undefined]) {
      setup.dressAs(size === undefined ? {} : { size })
      const answer = await setup.ask({ ...body(one), stream: true })
      const known = truth(one)
      if (answer.status !== 200) {
        expect(known?.failure).not.toBeNull()
        continue
      }
      const last = checkOrder(readEvents(await answer.text()))
      texts.push(said(last.response.output))
      if (known === null) continue
      expect(last.type === 'response.failed').toBe(known.failure !== null)
      if (known.failure === null) expectTruth(last.response, known)
    }
    if (texts.length > 1) expect(texts[1]).toEqual(texts[0])
  })

  test.each(streams)('$name is taken by the stock client', async (one) => {
    setup.dressAs({})
    const stream = setup.client.responses.stream(body(one))
    try {
      const final = await stream.finalResponse()
      expect(['completed', 'incomplete']).toContain(final.status)
      expect(said(final.output as Wire)).toEqual(said((await again(one)).response.output))
    } catch (thrown) {
      if (!(thrown instanceof APIError)) throw thrown
      expect(truth(one)?.failure).not.toBeNull()
    }
  })
  const again = async (one: Replayed): Promise<Wire> =>
    readEvents(await (await setup.ask({ ...body(one), stream: true })).text()).at(-1)

  test.each(good.filter(({ stream }) => !stream))(
    '$name is taken whole by the stock client',
    async (one) => {
      setup.dressAs({})
      const known = truth(one)
      try {
        const answer = await setup.client.responses.create(body(one))
        if (known !== null) expectTruth(answer, known)
        expect(answer.output_text).toBe(said(answer.output as Wire).text)
      } catch (thrown) {
        if (!(thrown instanceof APIError)) throw thrown
        expect(known?.failure ?? known).not.toBeNull()
      }
    },
  )

  test.each(list.filter(({ response }) => response.status !== 200))(
    '$name is an error of this family',
    async (one) => {
      setup.dressAs({})
      const answer = await setup.ask({ ...body(one), stream: one.stream })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      const { error } = (await answer.json()) as Wire
      expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String) })
    },
  )

  test.each(streams)(
    'W28: $name, cut anywhere, ends in an error and response.failed',
    async (one) => {
      const { length } = bytesOf(one.response)
      const cuts = FULL ? 10 : 1
      for (let n = 0; n < cuts; n++) {
        const cutAt = Math.max(1, Math.floor(((n + random()) * length) / cuts))
        setup.dressAs({ cutAt })
        const answer = await setup.ask({ ...body(one), stream: true })
        const text = await answer.text()
        if (answer.status !== 200) {
          expect([400, 429, 502, 503]).toContain(answer.status)
          continue
        }
        checkOrder(readEvents(text))
      }
      expect(await setup.openHolds()).toBe(0)
    },
  )
})

function expectTruth(response: Wire, { said: spoken, finish, count }: ReturnType<typeof truthOf>) {
  const { calls, ...words } = said(response.output)
  expect(words).toEqual({
    text: spoken.text,
    refusal: spoken.refusal,
    reasoning: spoken.reasoning,
  })
  expect(calls.map(({ name }) => name)).toEqual(spoken.calls.map(({ name }) => name))
  for (const [n, call] of calls.entries()) {
    const text = spoken.calls[n]?.arguments ?? ''
    expect(JSON.parse(call.arguments)).toEqual(text === '' ? {} : JSON.parse(text))
  }
  expect(response.status).toBe(STATUSES[finish] ?? 'completed')
  // Images that nobody asked for are neither delivered nor counted.
  if (count === null || spoken.images.length > 0) return
  expect(response.usage).toMatchObject({
    input_tokens: count.prompt,
    output_tokens: count.completion,
    total_tokens: count.prompt + count.completion,
  })
}

const STATUSES: Readonly<Record<string, string>> = {
  length: 'incomplete',
  content_filter: 'incomplete',
  error: 'failed',
}

/** mulberry32: the same cuts again from the same seed. */
let state = Number(process.env['SEED'] ?? 20_261_124)
function random(): number {
  state = (state + 0x6d_2b_79_f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
