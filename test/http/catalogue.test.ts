// GET /v1/models and /v1/models/{provider}/{model}: limited to the key’s allow-list, filtered, with prices.
import { expect, test } from 'vitest'
import { newPriceVersionId } from '#domain/id.ts'
import { UNROUTED } from '#domain/model-card.ts'
import { perMillion, readPrice, type UsdAttos } from '#domain/money.ts'
import { furnish, openApi } from '#test/support/furnish.ts'
import { aCard, anAct, aVersion, factor } from '#test/support/nouns.ts'

const deps = await furnish()
const { bearer } = await deps.issue()
const { get, app } = openApi(deps)

const price = (text: string): UsdAttos => readPrice(text)!
const now = deps.clock.now()
await deps.store.models.add(
  {
    id: 'demo/deep/pixel-1',
    provider: 'demo',
    upstreamName: 'pixel',
    ...UNROUTED,
    name: 'Pixel One',
    description: 'Draws and talks.',
    createdAt: now,
    contextLength: 32_768,
    maxCompletionTokens: 8_192,
    isCatalogued: false,
    imagesPerAnswer: 1,
    kind: 'generate',
    embeddingSpace: null,
    wires: null,
    inputModalities: ['text', 'image'],
    outputModalities: ['text', 'image'],
    supportedParameters: ['temperature'],
    prices: [
      {
        id: newPriceVersionId(now),
        effectiveFrom: now,
        prices: {
          prompt: perMillion(price('0.3'))!,
          completion: perMillion(price('2.5'))!,
          cacheRead: perMillion(price('0.03'))!,
          cacheWrite: null,
          cacheWrite1h: perMillion(price('0.6'))!,
          request: price('0'),
          searchUnit: price('0'),
          inputImage: price('0'),
          imageInputToken: null,
          imageOutputToken: null,
          imagePrices: [
            { resolution: '512x512', quality: 'low', usd: price('0.01') },
            { resolution: '1024x1024', quality: 'medium', usd: price('0.039') },
          ],
          tiers: [],
          serverTools: [{ tool: 'web_search', usd: price('0.01') }],
          modifiers: [{ name: 'service_tier=flex', factor: factor('0.5') }],
        },
      },
    ],
  },
  anAct(),
)

const ids = async (response: Response): Promise<string[]> =>
  ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)

test('a model has the fields of OpenAI and those of OpenRouter', async () => {
  const response = await get('/v1/models/demo/deep/pixel-1', bearer)
  expect(await response.json()).toEqual({
    id: 'demo/deep/pixel-1',
    object: 'model',
    created: Math.floor(now / 1000),
    owned_by: 'demo',
    name: 'Pixel One',
    description: 'Draws and talks.',
    context_length: 32768,
    architecture: {
      modality: 'text+image->text+image',
      input_modalities: ['text', 'image'],
      output_modalities: ['text', 'image'],
    },
    pricing: {
      prompt: '0.0000003',
      completion: '0.0000025',
      request: '0',
      image: '0',
      image_output: '0.039',
      input_cache_read: '0.00000003',
      input_cache_write: '0.0000003',
      input_cache_write_1h: '0.0000006',
      server_tools: { web_search: '0.01' },
      modifiers: { 'service_tier=flex': '0.5' },
    },
    pricing_model: 'mixed',
    image_pricing: [
      { resolution: '512x512', quality: 'low', usd: '0.01' },
      { resolution: '1024x1024', quality: 'medium', usd: '0.039' },
    ],
    top_provider: { context_length: 32768, max_completion_tokens: 8192 },
    supported_parameters: ['temperature'],
  })
})

test('a model shows the price of image input tokens where it differs', async () => {
  const prices = {
    imageInputToken: perMillion(price('8'))!,
    imageOutputToken: perMillion(price('32'))!,
  }
  await deps.store.models.add(
    aCard({ id: 'demo/tokens', provider: 'demo', price: aVersion(prices) }),
    anAct(),
  )
  const response = await get('/v1/models/demo/tokens', bearer)
  await deps.store.models.remove('demo/tokens', anAct())
  expect(await response.json()).toMatchObject({
    pricing: { image_input_token: '0.000008', image_output_token: '0.000032' },
    pricing_model: 'per_token',
  })
})

test('a model is found whether or not its slash is percent-encoded', async () => {
  for (const path of [
    '/v1/models/demo/echo',
    '/v1/models/demo%2Fecho',
    '/api/v1/models/demo/echo',
  ]) {
    expect(await (await get(path, bearer)).json()).toMatchObject({ id: 'demo/echo' })
  }
})

test('the list, its filters, and only the models that the key may call', async () => {
  const all = ['demo/deep/pixel-1', 'demo/echo', 'demo/flaky', 'demo/image', 'demo/lorem']
  const list = await get('/v1/models', bearer)
  expect(await list.clone().json()).toMatchObject({ object: 'list' })
  expect(await ids(list)).toEqual(all)
  expect(await ids(await get('/v1/models?output_modalities=image', bearer))).toEqual([
    all[0],
    all[3],
  ])
  expect(await ids(await get('/v1/models?output_modalities=image,text', bearer))).toEqual([all[0]])
  expect(await ids(await get('/v1/models?q=PIXEL%20draws', bearer))).toEqual([all[0]])
  expect(await ids(await get('/v1/models?q=', bearer))).toEqual(all)
  const narrow = await deps.issue({ allowedModels: ['demo/echo', 'demo/deep/*', 'gone/*'] })
  expect(await ids(await get('/v1/models', narrow.bearer))).toEqual([
    'demo/deep/pixel-1',
    'demo/echo',
  ])
  const nothing = await deps.issue({ allowedModels: [] })
  expect(await ids(await get('/v1/models', nothing.bearer))).toEqual([])
})

test('a key cannot tell a model outside its allow-list from one that does not exist', async () => {
  const narrow = await deps.issue({ allowedModels: ['other/*'] })
  const code = async (id: string, bearer: Readonly<Record<string, string>>) =>
    ((await (await get(`/v1/models/${id}`, bearer)).json()) as { error: { code: string } }).error
      .code
  expect(await code('demo/echo', narrow.bearer)).toBe('model_not_allowed')
  expect(await code('demo/none', narrow.bearer)).toBe('model_not_allowed')
  expect(await code('demo/none', bearer)).toBe('model_not_found')
})

test('a provisioning key is refused the catalogue', async () => {
  const provisioning = await deps.issue({}, 'provisioning')
  for (const path of ['/v1/models', '/v1/models/demo/echo']) {
    const response = await get(path, provisioning.bearer)
    expect([
      response.status,
      ((await response.json()) as { error: { code: string } }).error.code,
    ]).toEqual([403, 'provisioning_key_not_allowed'])
  }
})

test('HEAD answers the same headers without a body', async () => {
  const response = await app.request('http://gateway.test/v1/models', {
    method: 'HEAD',
    headers: bearer,
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
  expect(await response.text()).toBe('')
})
