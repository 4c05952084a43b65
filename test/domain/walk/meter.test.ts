// The meter counts what passes: the provider's word when it comes, else an estimate marked as one.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatEvent } from '#domain/chat.ts'
import { FREE } from '#domain/money.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { Meter } from '#domain/walk/meter.ts'
import type { Generate } from '#domain/work.ts'
import { anyText } from '#test/support/any-text.ts'
import { aCard, aRequest, price, usd } from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'

const text = (words: string): ChatEvent => ({ type: 'text-delta', choice: 0, text: words })
const usage = (stated: Partial<Usage>): ChatEvent => ({
  type: 'usage',
  usage: { ...NO_USAGE, ...stated },
})

/** The last and the first of each length, and the halves of surrogate pairs, together and apart. */
const anyUnits = fc
  .array(fc.constantFrom('a', '\u007f', '\u0080', '\u07ff', '\u0800', '\ud83d', '\ude00', '😀'), {
    maxLength: 80,
    size: 'max',
  })
  .map((units) => units.join(''))

function reading(
  events: readonly ChatEvent[],
  request = aRequest(),
  context: number | null = null,
) {
  const meter = new Meter(
    request,
    aCard({ contextLength: context, isCatalogued: true }),
    Number.POSITIVE_INFINITY,
  )
  for (const event of events) meter.note([event])
  return { ...meter.read(), produced: meter.produced, finishReason: meter.finishReason }
}

describe('without the provider’s word', () => {
  test('four bytes are a token, of the prompt and of what came', () => {
    const { usage, source } = reading([text('12345'), text('678')], aRequest({ textBytes: 101 }))
    expect(source).toBe('estimated')
    expect(usage).toMatchObject({ inputTokens: 26, outputTokens: 2 })
  })

  test('the bound is charged at most, and what is surely beyond it is known', () => {
    const meter = new Meter(aRequest(), aCard(), 5)
    meter.note([text('x'.repeat(1_000))])
    expect(meter.read()).toMatchObject({ source: 'estimated', usage: { outputTokens: 5 } })
    expect(meter.readUncharged()).toMatchObject({ outputTokens: 100 })
    meter.note([usage({ inputTokens: 7, outputTokens: 60 })])
    expect(meter.readUncharged()).toBeNull()
  })

  test('a file or a sound is not text: a hundred bytes of it are a token', () => {
    const request = aRequest({ textBytes: 4_000_100, fileBytes: 4_000_000 })
    expect(reading([], request).usage).toMatchObject({ inputTokens: 25 + 40_000 })
  })

  test('bytes are counted, not characters, however a text is cut', () => {
    expect(reading([text('при')]).usage.outputTokens).toBe(1)
    expect(reading([text('приветы')]).usage.outputTokens).toBe(2)
    expect(reading([text('日本語')]).usage.outputTokens).toBe(3)
    expect(reading([text('😀')]).usage.outputTokens).toBe(1)
    expect(reading([text('\ud83d'), text('\ude00')]).usage.outputTokens).toBe(1)
  })

  test('however long a text is, and whatever stands in it, each of its bytes is counted', () => {
    const bytesOf = (point: number): number => {
      const isHalf = point >= 0xd800 && point < 0xe000
      if (point < 0x80) return 1
      return point < 0x800 || isHalf ? 2 : point < 0x10000 ? 3 : 4
    }
    const isDense = (point: number): boolean =>
      (point >= 0x400 && point < 0x530) || (point >= 0x900 && point < 0xe00)
    // Longer than what the runtime's encoder is given room for, and with a pair across the end of it.
    const long = fc
      .nat(9_000)
      .map((chars) => `${'x'.repeat(16_384 - 8)}😀я語😀${'я'.repeat(chars)}`)
    fc.assert(
      fc.property(
        fc.oneof(anyText({ maxLength: 80, size: 'max' }), anyUnits, long, fc.string()),
        (words) => {
          const points = [...words].map((char) => char.codePointAt(0) ?? 0)
          const bytes = (some: readonly number[]) =>
            some.reduce((sum, point) => sum + bytesOf(point), 0)
          const dense = bytes(points.filter(isDense))
          // Four bytes are a token, of Cyrillic and of India's scripts seven.
          const often = reading(Array.from({ length: 28 }, () => text(words)))
          expect(often.usage.outputTokens).toBe(7 * (bytes(points) - dense) + 4 * dense)
        },
      ),
      { numRuns: FULL ? 100 : 40 },
    )
  })

  test('reasoning, refusals and the arguments of tools are output too', () => {
    const { usage } = reading([
      { type: 'reasoning-delta', choice: 0, text: '12345678' },
      { type: 'refusal-delta', choice: 0, text: '1234' },
      {
        type: 'tool-call-delta',
        choice: 0,
        index: 0,
        kind: 'function',
        name: 'abcd',
        arguments: '{"a":1}x',
      },
    ])
    expect(usage).toMatchObject({ outputTokens: 6, reasoningTokens: 2 })
  })

  test('images count, those in the prompt and those that came', () => {
    const { usage } = reading(
      [{ type: 'image', choice: 0, url: 'data:,' }],
      aRequest({ textBytes: 0, inputImages: 2, wantsImages: true }),
    )
    expect(usage).toMatchObject({ inputTokens: 0, imageInputTokens: 1_530 })
    expect(usage).toMatchObject({ inputImages: 2, outputImages: 1 })
    expect(usage.imageOutputTokens).toBeGreaterThan(0)
  })

  test('an image is estimated as its model is billed for it, beside the context where it is only billed', () => {
    const request = aRequest({ textBytes: 400, inputImages: 2 })
    const tokens = (upstreamName: string, contextLength: number) => {
      const meter = new Meter(
        request,
        aCard({ upstreamName, contextLength }),
        Number.POSITIVE_INFINITY,
      )
      return meter.readAfterDisconnect().usage
    }
    expect(tokens('gpt-4o', 128_000)).toMatchObject({ inputTokens: 100, imageInputTokens: 1_530 })
    expect(tokens('gpt-4o-mini', 50_000)).toMatchObject({
      inputTokens: 100,
      imageInputTokens: 51_002,
    })
  })

  test('a client that left before anything came still owes its prompt', () => {
    expect(reading([])).toMatchObject({ usage: { inputTokens: 25 }, produced: false })
  })

  test('a client that left its images owes those it asked for, unless they came or were counted', () => {
    const left = (events: readonly ChatEvent[], wantsImages = true) => {
      const meter = new Meter(
        aRequest({ wantsImages, choices: 2 }),
        aCard(),
        Number.POSITIVE_INFINITY,
      )
      meter.note(events)
      return meter.readAfterDisconnect()
    }
    const image: ChatEvent = { type: 'image', choice: 0, url: 'data:,' }
    expect(left([]).usage).toMatchObject({ outputImages: 2, imageOutputTokens: 2_580 })
    expect(left([]).source).toBe('estimated')
    expect(left([], false).usage).toMatchObject({ outputImages: 0, imageOutputTokens: 0 })
    expect(left([image]).usage).toMatchObject({ outputImages: 1, imageOutputTokens: 1_290 })
    expect(left([usage({ inputTokens: 9 })])).toMatchObject({
      usage: { outputImages: 0, imageOutputTokens: 0 },
      source: 'provider',
    })
  })

  test('the generated size is that of the latest image', () => {
    const meter = new Meter(
      aRequest({ wantsImages: true, choices: 2 }),
      aCard(),
      Number.POSITIVE_INFINITY,
    )
    expect(meter.drawn).toEqual({ resolution: undefined, quality: undefined })
    const drawn = { resolution: '1024x1024', quality: 'low' }
    meter.note([
      { type: 'image', choice: 0, url: 'data:,', drawn },
      { type: 'image', choice: 0, url: 'data:,' },
    ])
    expect(meter.drawn).toEqual(drawn)
  })

  test('no prompt is taken for larger than the model’s context, which bounded its hold', () => {
    expect(reading([], aRequest({ textBytes: 1_000_000 }), 8_192).usage.inputTokens).toBe(8_192)
    const images = aRequest({ textBytes: 1_000_000, inputImages: 10 })
    expect(reading([], images, 8_192).usage).toMatchObject({
      inputTokens: 542,
      imageInputTokens: 7_650,
    })
    expect(reading([], images, 1_000).usage).toMatchObject({
      inputTokens: 0,
      imageInputTokens: 1_000,
    })
  })
})

describe('what is content', () => {
  const meterOf = (event: ChatEvent) => {
    const meter = new Meter(aRequest(), aCard(), Number.POSITIVE_INFINITY)
    meter.note([event])
    return meter
  }

  test('a count alone is none, a call in the old form is', () => {
    expect(meterOf(usage({ inputTokens: 5 }))).toMatchObject({ produced: true, hasContent: false })
    const fields = { function_call: { name: 'f', arguments: '{"city":"Riga"}' } }
    const called = meterOf({ type: 'message-fields', choice: 0, fields })
    expect(called).toMatchObject({ produced: true, hasContent: true })
    expect(called.read().usage.outputTokens).toBe(4)
    const other = meterOf({ type: 'message-fields', choice: 0, fields: { annotations: [] } })
    expect(other).toMatchObject({ produced: false, hasContent: false })
  })

  test('thoughts that were counted and not seen stand beside the words that followed, within the bound', () => {
    const counted = { ...NO_USAGE, inputTokens: 9, outputTokens: 500, reasoningTokens: 500 }
    const read = (paid: number) => {
      const meter = new Meter(aRequest(), aCard(), paid)
      meter.note([{ type: 'usage', usage: counted, partial: true }, text('12345678')])
      return meter.readAfterDisconnect()
    }
    expect(read(Number.POSITIVE_INFINITY)).toMatchObject({
      source: 'estimated',
      usage: { inputTokens: 9, outputTokens: 502, reasoningTokens: 500 },
    })
    expect(read(501).usage.outputTokens).toBe(501)
    expect(read(400).usage.outputTokens).toBe(500)
  })

  test('a partial count of nothing leaves the prompt to the estimate', () => {
    const meter = new Meter(aRequest({ textBytes: 100 }), aCard(), Number.POSITIVE_INFINITY)
    meter.note([{ type: 'usage', usage: NO_USAGE, partial: true }, text('12345678')])
    expect(meter.read()).toMatchObject({
      source: 'estimated',
      usage: { inputTokens: 25, outputTokens: 2 },
    })
  })
})

describe('the provider’s word', () => {
  test('replaces the estimate, and a later word an earlier one', () => {
    const { usage: counted, source } = reading([
      usage({ inputTokens: 7, outputTokens: 1 }),
      text('a long answer, longer than that'),
      usage({ inputTokens: 7, outputTokens: 8 }),
    ])
    expect(source).toBe('provider')
    expect(counted).toEqual({ ...NO_USAGE, inputTokens: 7, outputTokens: 8 })
  })

  test('T16: an explicit nothing is nothing, not a missing word', () => {
    expect(reading([usage({})])).toMatchObject({ usage: NO_USAGE, source: 'provider' })
    const prompt = { inputTokens: 7 }
    expect(reading([text('some words'), usage(prompt)])).toMatchObject({
      usage: { ...NO_USAGE, ...prompt },
      source: 'provider',
    })
  })

  test('T16: zeros alone, beside a text, are no count', () => {
    const { usage: counted, source } = reading([text('some words'), usage({})])
    expect(source).toBe('estimated')
    expect(counted.outputTokens).toBe(3)
    expect(counted.inputTokens).toBeGreaterThan(0)
  })

  test('that an answer has no tokens is none, where no token is so long', () => {
    const { usage: counted, source } = reading([text('x'.repeat(40)), usage({ inputTokens: 7 })])
    expect(source).toBe('estimated')
    expect(counted).toMatchObject({ inputTokens: 7, outputTokens: 10 })
  })

  test('on its cost is kept beside the count, and changes nothing', () => {
    const meter = new Meter(aRequest({ textBytes: 40 }), aCard(), Number.POSITIVE_INFINITY)
    expect(meter.statedCost).toBeNull()
    meter.note([text('12345678')])
    const estimated = meter.read()
    meter.note([{ type: 'usage', usage: null, statedCost: usd('0.5') }])
    expect(meter.statedCost).toBe(usd('0.5'))
    expect(meter.read()).toEqual(estimated)
    expect(estimated).toMatchObject({ source: 'estimated', usage: { inputTokens: 10 } })
    meter.note([{ ...usage({ inputTokens: 7 }), statedCost: usd('0.25') } as ChatEvent])
    meter.note([usage({ inputTokens: 8 })])
    expect(meter.statedCost).toBe(usd('0.25'))
    expect(meter.read()).toEqual({ usage: { ...NO_USAGE, inputTokens: 8 }, source: 'provider' })
  })

  test('does not count the images: those that came are counted', () => {
    const { usage: counted } = reading(
      [{ type: 'image', choice: 0, url: 'data:,' }, usage({ outputImages: 9, inputImages: 9 })],
      aRequest({ inputImages: 1, wantsImages: true }),
    )
    expect(counted).toMatchObject({ inputImages: 1, outputImages: 1 })
  })

  test.each([
    [-5, 0],
    [1.5, 2],
    [Number.NaN, 0],
    [1e300, Number.MAX_SAFE_INTEGER],
    [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
  ])(
    'a count of %s is taken for %s: it neither earns money nor stops a settlement',
    (said, taken) => {
      expect(reading([usage({ inputTokens: said })]).usage.inputTokens).toBe(taken)
    },
  )
})

describe('what it tells on the way', () => {
  test.each<[string, ChatEvent, boolean]>([
    ['text', text('a'), true],
    ['a count', usage({}), true],
    ['a cost alone', { type: 'usage', usage: null, statedCost: usd('0.1') }, false],
    ['a finish', { type: 'finish', choice: 0, reason: 'stop', native: 'stop' }, false],
    ['unknown fields', { type: 'answer-fields', fields: { x: 1 } }, false],
    ['unknown message fields', { type: 'message-fields', choice: 0, fields: { x: 1 } }, false],
  ])('%s: content came is %s', (_, event, produced) => {
    expect(reading([event]).produced).toBe(produced)
  })

  test('the first choice’s finish is the answer’s', () => {
    const finish = (choice: number, reason: 'stop' | 'length'): ChatEvent => ({
      type: 'finish',
      choice,
      reason,
      native: reason,
    })
    expect(reading([finish(0, 'length'), finish(1, 'stop')]).finishReason).toBe('length')
  })
})

describe('a count made before the answer was complete', () => {
  const partial = (stated: Partial<Usage>): ChatEvent => ({
    type: 'usage',
    usage: { ...NO_USAGE, ...stated },
    partial: true,
  })

  test('keeps the prompt, and takes the larger of the two outputs', () => {
    const prompt = { inputTokens: 7, cacheReadTokens: 900, cacheWriteTokens: 30 }
    const few = reading([partial({ ...prompt, outputTokens: 2 }), text('12345678901234567')])
    expect(few).toMatchObject({
      source: 'estimated',
      usage: { ...NO_USAGE, ...prompt, outputTokens: 5 },
    })
    const many = reading([partial({ ...prompt, outputTokens: 40 }), text('12345')])
    expect(many).toMatchObject({ source: 'estimated', usage: { ...prompt, outputTokens: 40 } })
  })

  test('does not hide reasoning that passed after it', () => {
    const { usage: counted } = reading([
      partial({ inputTokens: 7, outputTokens: 1 }),
      { type: 'reasoning-delta', choice: 0, text: '12345678' },
      text('1234'),
    ])
    expect(counted).toMatchObject({ outputTokens: 3, reasoningTokens: 2 })
  })

  test('is replaced by a complete one, whichever is larger', () => {
    const { usage: counted, source } = reading([
      partial({ inputTokens: 7, outputTokens: 50 }),
      text('a long answer, longer than that'),
      usage({ inputTokens: 7, outputTokens: 3 }),
    ])
    expect(source).toBe('provider')
    expect(counted).toEqual({ ...NO_USAGE, inputTokens: 7, outputTokens: 3 })
  })

  test('is nothing produced by itself, yet a client that leaves then owes its prompt', () => {
    expect(reading([partial({ inputTokens: 7, outputTokens: 1 })])).toMatchObject({
      produced: false,
      source: 'estimated',
      usage: { inputTokens: 7, outputTokens: 1 },
    })
  })
})

describe('images beyond those that the request holds', () => {
  const image: ChatEvent = { type: 'image', choice: 0, url: 'data:,' }
  const meterOf = (
    events: readonly ChatEvent[],
    more: Partial<Generate> = {},
    imagesPerAnswer = 1,
  ) => {
    const card = aCard({ imagesPerAnswer })
    const meter = new Meter(aRequest(more), card, Number.POSITIVE_INFINITY)
    const delivered = events.flatMap((event) => meter.note([event]))
    return { meter, delivered }
  }

  test('are not delivered: the first are kept, in one batch and over several', () => {
    const other = { ...image, choice: 1 }
    const events = [text('a'), image, other, image, text('b')]
    const kept = [text('a'), image, other, text('b')]
    expect(meterOf(events, { wantsImages: true, choices: 2 }).delivered).toEqual(kept)
    expect(meterOf(events, { wantsImages: true }, 2).delivered).toEqual(kept)
    expect(meterOf(events).delivered).toEqual([text('a'), text('b')])
    const { meter } = meterOf([], { wantsImages: true })
    expect(meter.note(events)).toEqual([text('a'), image, text('b')])
    expect(meter.images).toBe(1)
  })

  test('are no content: an answer of nothing else is not charged for if it breaks', () => {
    const { meter } = meterOf([image])
    expect(meter).toMatchObject({ images: 0, hasContent: false, produced: true })
  })

  test.each<
    [
      what: string,
      wanted: number,
      stated: Partial<Usage>,
      charged: Partial<Usage>,
      source: string,
      parted?: Partial<Usage>,
    ]
  >([
    [
      'a count that parts text from images keeps its text',
      0,
      { inputTokens: 9, outputTokens: 50, imageOutputTokens: 2_000 },
      { inputTokens: 9, outputTokens: 50, imageOutputTokens: 0, outputImages: 0 },
      'provider',
    ],
    [
      'one that does not is cut to the estimate of the text',
      0,
      { inputTokens: 9, outputTokens: 2_050 },
      { inputTokens: 9, outputTokens: 3, outputImages: 0 },
      'estimated',
    ],
    [
      'reasoning that was counted is text',
      0,
      { inputTokens: 9, outputTokens: 2_050, reasoningTokens: 40 },
      { outputTokens: 40, reasoningTokens: 40 },
      'estimated',
    ],
    [
      'no more than the count is charged',
      0,
      { inputTokens: 9, outputTokens: 2 },
      { outputTokens: 2 },
      'estimated',
    ],
    [
      'where one of two was asked for, half of the image tokens are charged',
      1,
      { outputTokens: 50, imageOutputTokens: 2_001 },
      { outputTokens: 50, imageOutputTokens: 1_000, outputImages: 1 },
      'estimated',
    ],
    [
      'also where one count has text and images',
      1,
      { outputTokens: 2_003 },
      { outputTokens: 3, imageOutputTokens: 1_000, outputImages: 1 },
      'estimated',
      { outputTokens: 3, imageOutputTokens: 2_000 },
    ],
    [
      'too few for images are shared as they are',
      1,
      { outputTokens: 103 },
      { outputTokens: 53, imageOutputTokens: 0, outputImages: 1 },
      'estimated',
    ],
  ])('%s', (_, wanted, stated, charged, source, parted = {}) => {
    const { meter } = meterOf([image, text('0123456789'), image, usage(stated)], {
      wantsImages: wanted > 0,
    })
    expect(meter.read()).toMatchObject({ usage: charged, source })
    expect(meter.readUncharged()).toMatchObject({ ...stated, ...parted, outputImages: 2 })
  })

  test('one count has words and images: what is no words is charged as images, where it is enough for them', () => {
    const read = (outputTokens: number, more: Partial<Usage> = {}) => {
      const counted = usage({ inputTokens: 9, outputTokens, ...more })
      const { meter } = meterOf([text('0123456789'), image, counted], { wantsImages: true })
      expect(meter.readUncharged()).toBeNull()
      return meter.read()
    }
    const drawn = { inputTokens: 9, outputImages: 1 }
    expect(read(1_300)).toMatchObject({
      usage: { ...drawn, outputTokens: 3, imageOutputTokens: 1_297 },
      source: 'estimated',
    })
    expect(read(1_300, { reasoningTokens: 200 }).usage).toMatchObject({ imageOutputTokens: 1_100 })
    for (const stated of [{ outputTokens: 102 }, { outputTokens: 10, imageOutputTokens: 1_290 }]) {
      expect(read(stated.outputTokens, stated)).toMatchObject({
        usage: { ...drawn, ...stated },
        source: 'provider',
      })
    }
  })

  test('are images to the operator where these have a price by the token, though one count has words and images', () => {
    const prices = { prompt: FREE, searchUnit: FREE, imageOutputToken: price('0.00003') }
    const meter = new Meter(aRequest(), aCard(), Number.POSITIVE_INFINITY, prices)
    meter.note([image, text('0123456789'), usage({ inputTokens: 9, outputTokens: 1_293 })])
    expect(meter.read()).toMatchObject({
      usage: { outputTokens: 3, imageOutputTokens: 0, outputImages: 0 },
      source: 'estimated',
    })
    expect(meter.readUncharged()).toMatchObject({ outputTokens: 3, imageOutputTokens: 1_290 })
  })

  test('without a count, the text alone is estimated', () => {
    const { meter } = meterOf([image, text('0123456789')])
    expect(meter.read()).toMatchObject({
      usage: { outputTokens: 3, imageOutputTokens: 0, outputImages: 0 },
      source: 'estimated',
    })
    expect(meter.readUncharged()).toMatchObject({ imageOutputTokens: 1_290, outputImages: 1 })
  })

  test('that did not come change nothing', () => {
    const { meter } = meterOf([image, usage({ outputTokens: 5 })], { wantsImages: true })
    expect(meter.read()).toMatchObject({
      usage: { outputTokens: 5, outputImages: 1 },
      source: 'provider',
    })
    expect(meter.readUncharged()).toBeNull()
  })
})

test('what is surely beyond the bound is added to what is charged, which may have an image that never came', () => {
  const card = aCard({ imagesPerAnswer: 1, outputModalities: ['text', 'image'] })
  const meter = new Meter(aRequest({ wantsImages: true, choices: 1, maxOutputTokens: 5 }), card, 5)
  meter.note([
    text('Here is the picture of a cat that you asked me for, in the style of a watercolour:'),
  ])
  const charged = meter.readAfterDisconnect().usage
  expect(charged.imageOutputTokens).toBeGreaterThan(0)
  expect(meter.readUncharged(charged)).toEqual({ ...charged, outputTokens: 8 })
})
