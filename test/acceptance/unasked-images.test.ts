/** A model that draws although nobody asked, or more than it was asked for: what was not held is neither delivered nor charged. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, chargesIn, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const URL = `data:image/png;base64,${PNG}`
const IMAGE = { type: 'image_url', image_url: { url: URL } }
const WORDS = 'A fox, drawn.'
/** One count for text and images, as most providers send it. */
const USAGE = { prompt_tokens: 10, completion_tokens: 1_294, total_tokens: 1_304 }
/** Of the words, by estimate; at $1 and $2 per million tokens. */
const TEXT_NANOS = 10 * 1_000 + Math.ceil(WORDS.length / 4) * 2_000

const cli = openCli()
let gateway: Appliance
let key = ''
const seen: { path: string; body: Record<string, unknown> }[] = []

const json = (message: object): Response =>
  Response.json({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: USAGE,
  })
const events = (...chunks: readonly object[]): Response =>
  new Response(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
const deltas = (...list: readonly object[]): Response =>
  events(
    ...list.map((delta) => ({ id: 'x', choices: [{ index: 0, delta }] })),
    { id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'x', choices: [], usage: USAGE },
  )
const gemini = (...parts: readonly object[]) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1_294, totalTokenCount: 1_304 },
})
const DATA = { inlineData: { mimeType: 'image/png', data: PNG } }

/** By the first part of the path: what is answered, to everybody and at once. */
const ANSWERS: Readonly<Record<string, () => Response>> = {
  'message-images': () => json({ content: WORDS, images: [IMAGE] }),
  'content-parts': () => json({ content: [{ type: 'text', text: WORDS }, IMAGE] }),
  'two-images': () => json({ content: WORDS, images: [IMAGE, IMAGE] }),
  'delta-images': () => deltas({ images: [IMAGE] }, { content: WORDS }),
  'gemini-whole': () => Response.json(gemini({ text: WORDS }, DATA)),
  'gemini-stream': () => events(gemini(DATA, { text: WORDS })),
  router: () => json({ content: WORDS, images: [IMAGE] }),
}
const TYPES: Readonly<Record<string, 'google' | 'openrouter'>> = {
  'gemini-whole': 'google',
  'gemini-stream': 'google',
  router: 'openrouter',
}

const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const [name = '', ...path] = new globalThis.URL(request.url).pathname.slice(1).split('/')
    seen.push({ path: `${name}/${path.join('/')}`, body: (await request.json()) as never })
    return ANSWERS[name]?.() ?? new Response(null, { status: 404 })
  },
})

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'k' })).key
  for (const name of Object.keys(ANSWERS)) {
    const base_url = `http://127.0.0.1:${upstream.port}/${name}`
    const type = TYPES[name] ?? 'openai-compatible'
    await gateway.verb('providers.add', { name, type, base_url, credential: 'c' })
    const price = { in_usd: '1', out_usd: '2', per_image_usd: [{ usd: '0.05' }] }
    await gateway.verb('models.add', { model: `${name}/m`, images: true, ...price })
  }
})

afterAll(async () => {
  await gateway?.stop()
  await upstream.stop(true)
})

const ask = async (name: string, more: object = {}) => {
  const messages = [{ role: 'user', content: 'a fox' }]
  const response = await gateway.chat(key, { model: `${name}/m`, messages, ...more })
  const id = response.headers.get('x-generation-id') ?? ''
  const text = await response.text()
  const charged = chargesIn(cli).find(({ generation_id }) => generation_id === id)?.amount_nanos
  return { text, id, charged: -(charged ?? 0) }
}

describe('an image that nobody asked for', () => {
  test.each(['message-images', 'content-parts', 'gemini-whole', 'router'])(
    'in a whole answer (%s)',
    async (name) => {
      const { text, id, charged } = await ask(name)
      expect(text).not.toMatch(/base64|"images":\[/)
      expect(JSON.parse(text)).toMatchObject({
        choices: [{ message: { content: WORDS }, finish_reason: 'stop' }],
        usage: { images: 0, cost_details: { images_usd: '0', source: 'estimated' } },
      })
      expect(charged).toBe(TEXT_NANOS)
      const receipt = await gateway.verb('activity.show', { id })
      // Its image, and the tokens that were counted with the text.
      expect(receipt.operator_cost_usd).toBe('0.05258')
    },
  )

  test.each(['delta-images', 'gemini-stream'])('in a stream (%s)', async (name) => {
    const { text, charged } = await ask(name, { stream: true })
    expect(text).toContain(WORDS)
    expect(text).not.toMatch(/base64|"images":\[/)
    expect(charged).toBe(TEXT_NANOS)
  })

  test('cannot carry requests at once past a ceiling', async () => {
    const { key: poor } = await gateway.verb('keys.create', {
      name: 'poor',
      daily_spend_limit_usd: '0.06',
    })
    const body = {
      model: 'message-images/m',
      messages: [{ role: 'user', content: 'a fox' }],
      max_tokens: 100,
    }
    const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.chat(poor, body)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    const key_info = await fetch(`${gateway.url}/v1/key`, {
      headers: { authorization: `Bearer ${poor}` },
    })
    const { usage } = (await key_info.json()) as { usage: { spend_day_usd: string } }
    expect(Number(usage.spend_day_usd) * 1e9).toBeCloseTo(20 * TEXT_NANOS)
  })

  test('is not even drawn, where the provider can be told', async () => {
    await ask('router')
    await ask('gemini-whole')
    const last = (name: string) => seen.findLast(({ path }) => path.startsWith(name))?.body
    expect(last('router')).toMatchObject({ modalities: ['text'] })
    expect(last('gemini-whole')).toMatchObject({
      generationConfig: { responseModalities: ['TEXT'] },
    })
    expect(last('message-images')).not.toHaveProperty('modalities')
  })
})

test('of two images where one was asked for, the first is delivered and charged', async () => {
  const { text, id } = await ask('two-images', { modalities: ['text', 'image'] })
  const { choices, usage } = JSON.parse(text)
  expect(choices[0].message.images).toHaveLength(1)
  expect(usage).toMatchObject({ images: 1, cost_details: { images_usd: '0.05' } })
  const { operator_cost_usd } = await gateway.verb('activity.show', { id })
  expect(Number(operator_cost_usd)).toBeGreaterThanOrEqual(0.05)
})
