// The demo models emit the same events as a real provider, count one token per word, and fail on request.
import { inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { isModelId, pricingModel } from '#domain/model-card.ts'
import { renderPerMillion, renderPrice } from '#domain/money.ts'
import { isProviderName } from '#domain/provider.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Generate, Work } from '#domain/work.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { openUpstream } from '#upstream/registry.ts'
import { type CallOptions, call, collect, collectFolded, request } from './fixtures.ts'

const demo = openUpstream({ ...demoProvider(instant(0)), credentials: [], revision: 1 }, null)
const asking = (content: unknown, more: Partial<Generate> = {}, body = {}): Work =>
  request(
    {
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content },
      ],
      ...body,
    },
    more,
  )
const ask = (upstreamName: string, options: CallOptions) =>
  collectFolded(demo.ask(call({ upstreamName, ...options })))
const stopped = (choice = 0) => ({ choice, reason: 'stop', native: 'stop' })

test.each(['echo', 'lorem', 'image', 'flaky'])(
  '%s reads the conversation while it is asked: later, its body is let go',
  async (upstreamName) => {
    const asked = asking('one two') as Generate
    let isHeld = true
    const conversation = () => {
      if (!isHeld) throw new Error('the body was let go')
      return asked.conversation()
    }
    const answer = await demo.ask(call({ upstreamName, request: { ...asked, conversation } }))
    isHeld = false
    const { events } = await collect(Promise.resolve(answer))
    expect(events.at(-1)).toMatchObject({ type: 'usage', usage: { inputTokens: 4 } })
  },
)

describe('echo', () => {
  test('repeats the prompt word by word, and counts every word once', async () => {
    const text = 'Guten  Tag,\nWelt! '
    const { events } = await collect(
      demo.ask(call({ upstreamName: 'echo', request: asking(text) })),
    )
    expect(events.slice(0, 3)).toEqual([
      { type: 'text-delta', choice: 0, text: 'Guten  ' },
      { type: 'text-delta', choice: 0, text: 'Tag,\n' },
      { type: 'text-delta', choice: 0, text: 'Welt! ' },
    ])
    expect(events.slice(3)).toEqual([
      { type: 'finish', ...stopped() },
      { type: 'usage', usage: { ...NO_USAGE, inputTokens: 5, outputTokens: 3 } },
    ])
  })

  test('stops at max_tokens', async () => {
    const answer = await ask('echo', { request: asking('one two three', { maxOutputTokens: 2 }) })
    expect(answer).toMatchObject({
      text: 'one two ',
      finish: [{ reason: 'length' }],
      usage: { outputTokens: 2 },
    })
  })

  test('reads parts, and answers every choice', async () => {
    const parts = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]
    const answer = await ask('echo', { request: asking(parts, { choices: 2 }) })
    expect(answer).toMatchObject({
      text: 'looklook',
      finish: [stopped(0), stopped(1)],
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  })

  test('keeps the white space before the first word, and handles long white space in linear time', async () => {
    const said = await ask('echo', { request: asking(' \n\u00a0one two') })
    expect(said).toMatchObject({ text: ' \n\u00a0one two', usage: { outputTokens: 2 } })
    const began = performance.now()
    await ask('echo', { request: asking(' '.repeat(100_000)) })
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test('answers an empty prompt with nothing', async () => {
    expect(await ask('echo', { request: request({ messages: [] }) })).toMatchObject({
      text: '',
      finish: [stopped()],
      usage: NO_USAGE,
    })
  })
})

describe('lorem', () => {
  test.each([
    [null, 64],
    [10, 10],
    [1_000, 1_000],
  ])('max_tokens %s gives %i words', async (maxOutputTokens, words) => {
    const { text, usage, finish } = await ask('lorem', {
      request: asking('go', { maxOutputTokens }),
    })
    expect(text.trim().split(' ')).toHaveLength(words)
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: words })
    expect(finish).toEqual([stopped()])
  })

  test.each([
    [null, 4_096, 64],
    [null, 10, 10],
    [1_000, 100, 100],
  ])('max_tokens %s with a bound of %i gives %i words', async (asked, bound, words) => {
    const request = asking('go', { maxOutputTokens: asked })
    const { usage } = await ask('lorem', { request, maxOutputTokens: bound })
    expect(usage).toMatchObject({ outputTokens: words })
  })

  test('keeps the requested rate', async () => {
    const startedMs = performance.now()
    const endUser = 'rate-100 delay-100'
    await ask('lorem', { request: asking('go', { maxOutputTokens: 20, endUser }) })
    const tookMs = performance.now() - startedMs
    expect(tookMs).toBeGreaterThan(250)
    expect(tookMs).toBeLessThan(1_500)
  })

  test.each(['rate-1', 'delay-60000', ''])(
    'stops at once when the client disconnects (%s)',
    async (endUser) => {
      const gone = new Error('gone')
      const client = new AbortController()
      const startedMs = performance.now()
      setTimeout(() => client.abort(gone), 30)
      const { failure } = await ask('lorem', {
        request: asking('go', { maxOutputTokens: 100_000, endUser }),
        signal: client.signal,
      })
      expect(failure).toBe(gone)
      expect(performance.now() - startedMs).toBeLessThan(1_000)
    },
  )
})

describe('image', () => {
  const draw = async (prompt: string, image_config?: object) => {
    const body = { modalities: ['image'], ...(image_config && { image_config }) }
    const answer = await ask('image', { request: asking(prompt, { wantsImages: true }, body) })
    const png = Buffer.from(answer.images[0]!.replace('data:image/png;base64,', ''), 'base64')
    return { answer, png }
  }

  test('draws a valid PNG', async () => {
    const { png, answer } = await draw('a quiet sea')
    expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
    const chunks: Record<string, Buffer> = {}
    for (let at = 8; at < png.length; ) {
      const bytes = png.readUInt32BE(at)
      const name = png.toString('latin1', at + 4, at + 8)
      const sum = png.readUInt32BE(at + 8 + bytes)
      expect(Bun.hash.crc32(png.subarray(at + 4, at + 8 + bytes))).toBe(sum)
      chunks[name] = png.subarray(at + 8, at + 8 + bytes)
      at += 12 + bytes
    }
    expect(Object.keys(chunks)).toEqual(['IHDR', 'IDAT', 'IEND'])
    expect(chunks['IHDR']?.readUInt32BE(0)).toBe(256)
    const pixels = inflateSync(chunks['IDAT']!)
    expect(pixels).toHaveLength(256 * (1 + 256 * 3))
    expect(new Set(pixels).size).toBeGreaterThan(100)
    expect(answer).toMatchObject({
      text: '',
      finish: [stopped()],
      usage: { inputTokens: 5, outputTokens: 0, imageOutputTokens: 0 },
    })
  })

  test('draws the same for the same prompt, and something else for another', async () => {
    const { png } = await draw('a quiet sea')
    expect((await draw('a quiet sea')).png.equals(png)).toBe(true)
    expect((await draw('a loud sea')).png.equals(png)).toBe(false)
  })

  test.each([
    ['64x32', 64, 32],
    ['1x99999', 16, 1_024],
    ['large', 256, 256],
  ])('size %s', async (size, width, height) => {
    const { png } = await draw('x', { size })
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([width, height])
  })
})

describe('flaky', () => {
  const flaky = (endUser: string, options: CallOptions = {}) =>
    ask('flaky', { request: asking('one two three four', { endUser }), ...options })

  test.each([
    ['fail-502', 'failed', 502],
    ['fail-429', 'overloaded', 429],
    ['fail-401', 'unauthorized', 401],
    ['fail-400', 'rejected', 400],
  ])('%s', async (user, kind, status) => {
    const { failure, text } = await flaky(user)
    expect(failure).toMatchObject({ kind, details: { status } })
    expect(text).toBe('')
    if (status === 429) expect(failure?.details.retryAfterSeconds).toBe(7)
  })

  test('cut', async () => {
    expect(await flaky('cut')).toMatchObject({
      text: 'one two ',
      usage: null,
      finish: [],
      failure: { kind: 'failed' },
    })
  })

  test('no-usage', async () => {
    expect(await flaky('no-usage')).toMatchObject({
      text: 'one two three four',
      usage: null,
      finish: [stopped()],
      failure: null,
    })
  })

  test('stall ends at the first-byte time-out, or when the client disconnects', async () => {
    const timeouts = { firstByteTimeoutMs: 50 }
    expect((await flaky('stall', { timeouts })).failure).toMatchObject({ kind: 'timeout' })
    const signal = AbortSignal.timeout(50)
    expect((await flaky('stall', { signal })).failure).toBe(signal.reason)
  })

  test('slow waits before its first word', async () => {
    const signal = AbortSignal.timeout(300)
    const { text, failure } = await flaky('slow', { signal })
    expect({ text, failure }).toEqual({ text: '', failure: signal.reason })
  })

  test('otherwise an echo', async () => {
    expect(await flaky('')).toMatchObject({ text: 'one two three four', failure: null })
  })
})

test('an unknown model is refused', async () => {
  expect((await ask('nothing', {})).failure).toMatchObject({ kind: 'rejected' })
  expect((await ask('constructor', {})).failure).toMatchObject({ kind: 'rejected' })
})

test('every model has a price and answers', async () => {
  const at = instant(1_700_000_000_000)
  expect(isProviderName(demoProvider(at).name)).toBe(true)
  const cards = demoCards(at)
  expect(cards.map(({ id }) => id)).toEqual(['demo/echo', 'demo/lorem', 'demo/flaky', 'demo/image'])
  for (const card of cards) {
    expect(isModelId(card.id)).toBe(true)
    expect((await ask(card.upstreamName, { request: asking('hello') })).failure).toBeNull()
  }
  const [echo, , , image] = cards.map(({ prices }) => prices[0]!.prices)
  expect([renderPerMillion(echo!.prompt), renderPerMillion(echo!.completion)]).toEqual(['1', '2'])
  expect(renderPrice(image!.imagePrices[0]!.usd)).toBe('0.01')
  expect([pricingModel(echo!), pricingModel(image!)]).toEqual(['per_token', 'per_image'])
})
