/** The catalog: every entry becomes a card, every price is exact, and a vendor's models come with its provider. */

import { describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { findInexact } from '#domain/extras.ts'
import { factsOf, isModelId, type ModelCard } from '#domain/model-card.ts'
import { perMillion, readPrice, renderPrice } from '#domain/money.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import type { Dialect } from '#domain/work.ts'
import type { CatalogEntry } from '#operator/catalog/entry.ts'
import { catalogOf, markCatalogued, toCard } from '#operator/catalog.ts'
import { modelOf, modelsOf, providersOf } from '#test/support/catalogue.ts'
import { anAct } from '#test/support/nouns.ts'
import { act, openFurnished } from './deps.ts'

const { default: file } = await import('#operator/catalog/models.json', {
  with: { type: 'json' },
})
const ENTRIES = file as readonly CatalogEntry[]

const provider = (name: string): Provider => ({
  name,
  type: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:9',
  credentials: [],
  outputBound: null,
  learnedBound: null,
  createdAt: instant(0),
  revision: 1,
})

const cardOf = async (vendor: string, model: string) => {
  const entry = (await catalogOf(vendor)).find((other) => other.model === model)
  if (!entry) throw new Error(`the catalog has no ${vendor} ${model}`)
  return toCard(entry, provider(vendor), instant(0))
}

test('no entry is twice in it, and each makes a well-formed id', () => {
  const ids = ENTRIES.map(({ served_by, model }) => `${served_by}/${model}`)
  expect(ids).toHaveLength(489)
  expect(new Set(ids).size).toBe(489)
  expect(ids.filter((id) => !isModelId(id))).toEqual([])
})

test('every price is an exact, plain decimal that the ledger can charge', () => {
  const prices = ENTRIES.flatMap(({ usd_per_million, tiers, usd_per_image }) => [
    ...Object.values(usd_per_million ?? {}),
    ...(tiers ?? []).flatMap(({ above_input_tokens: _, ...tier }) => Object.values(tier)),
    ...(usd_per_image ?? []).map(({ usd }) => usd),
  ])
  expect(prices.length).toBeGreaterThan(700)
  for (const text of prices.filter((one) => one !== undefined)) {
    const price = readPrice(text)
    expect([text, price === undefined ? null : renderPrice(price)]).toEqual([text, text])
    expect(price === undefined ? undefined : perMillion(price)).toBeDefined()
    // A float that was written out whole would show here.
    expect(text.replace('.', '').replace(/^0+/, '').length).toBeLessThanOrEqual(8)
  }
})

test('every factor leaves every charge exact, and every price of a tool is one', () => {
  const priced = ENTRIES.filter((entry) => entry.modifiers ?? entry.usd_per_thousand_calls)
  expect(priced.length).toBeGreaterThan(30)
  for (const entry of priced) {
    const [version] = toCard(entry, provider(entry.served_by), instant(0)).prices
    if (version) expect(findInexact(version.prices)).toBeUndefined()
  }
})

test('an hour in the cache of Anthropic costs twice the prompt', async () => {
  for (const entry of await catalogOf('anthropic')) {
    const { prices } = toCard(entry, provider('anthropic'), instant(0)).prices[0] ?? {}
    expect(prices?.cacheWrite1h).toBe((prices?.prompt ?? 0n) * 2n)
  }
})

describe('cards', () => {
  test('carry tiers, caches and dates', async () => {
    const card = await cardOf('openai', 'gpt-5.4')
    expect(card).toMatchObject({
      id: 'openai/gpt-5.4',
      upstreamName: 'gpt-5.4',
      provider: 'openai',
    })
    expect(card.prices[0]?.prices.tiers).toEqual([
      {
        aboveTokens: 272_000,
        prompt: 5_000_000_000_000n,
        completion: 22_500_000_000_000n,
        cacheRead: 1_000_000_000_000n / 2n,
        cacheWrite: null,
        cacheWrite1h: null,
      },
    ])
  })

  test('price images by piece where the vendor bills pieces', async () => {
    const [price] = (await cardOf('xai', 'grok-imagine-image')).prices
    expect(price?.prices.imagePrices).toEqual([
      { resolution: '*', quality: '*', usd: readPrice('0.02') },
    ])
    expect(price?.prices.imageOutputToken).toBeNull()
  })

  test('and by token where it bills tokens, whatever it lists beside them', async () => {
    const both = ENTRIES.filter(
      ({ usd_per_million, usd_per_image }) => usd_per_million?.output_image && usd_per_image,
    )
    expect(both.map(({ model }) => model)).toEqual([
      'gemini-2.5-flash-image',
      'gpt-image-1',
      'gpt-image-1.5',
      'gpt-image-2',
    ])
    for (const { served_by, model } of both) {
      const [price] = (await cardOf(served_by, model)).prices
      expect(price?.prices.imagePrices).toEqual([])
      expect(price?.prices.imageOutputToken).toBeGreaterThan(0n)
    }
  })

  test('that list pieces name each size and quality, without a wildcard that would always be dearest', () => {
    for (const { usd_per_image: list = [] } of ENTRIES) {
      const names = list.map(({ resolution, quality }) => `${resolution} ${quality}`)
      expect(new Set(names).size).toBe(names.length)
      if (list.length > 1) expect(names.filter((name) => name.includes('*'))).toEqual([])
    }
  })

  test('price tokens of images apart from those of text', async () => {
    const [price] = (await cardOf('openai', 'gpt-image-1')).prices
    const { prompt, imageInputToken, imageOutputToken } = price?.prices ?? ({} as never)
    expect([prompt, imageInputToken, imageOutputToken].map((one) => renderPrice(one!))).toEqual([
      '0.000005',
      '0.00001',
      '0.00004',
    ])
    expect((await cardOf('openai', 'gpt-4.1')).prices[0]?.prices.imageInputToken).toBeNull()
  })

  test('are unpriced where no source has a price, or thinking costs another one', async () => {
    expect((await cardOf('groq', 'groq/compound')).prices).toEqual([])
    expect((await cardOf('alibaba', 'qwen-plus')).prices).toEqual([])
  })

  test('are unpriced where they draw, and no source says at what price', async () => {
    const unpriced: string[] = []
    for (const vendor of ['google', 'openai', 'openrouter', 'xai']) {
      const drawers = (await catalogOf(vendor)).filter(({ output }) => output.includes('image'))
      const cards = drawers.map((entry) => toCard(entry, provider(vendor), instant(0)))
      unpriced.push(
        ...cards.filter(({ prices }) => prices.length === 0).map(({ provider }) => provider),
      )
    }
    // OpenRouter's nine, of whose images no source tells the price, and one of xAI's without any.
    expect(unpriced).toEqual([...Array(9).fill('openrouter'), 'xai'])
  })

  test('say what they can', async () => {
    const { supportedParameters, inputModalities } = await cardOf('openai', 'gpt-4.1')
    expect(supportedParameters).toEqual(expect.arrayContaining(['tools', 'structured_outputs']))
    expect(inputModalities).toEqual(['text', 'image', 'file'])
  })
})

describe('providers.add', () => {
  test.each(['openai', 'openrouter', 'mistral', 'deepseek', 'xai'] as const)(
    '%s brings its models',
    async (name) => {
      const deps = await openFurnished()
      const record = await act(deps, 'providers.add', { name, credential: 'sk-x' })
      const known = await catalogOf(name)
      expect(record).toMatchObject({ type: name, models: known.length, has_credential: true })
      expect(record.base_url).toBe(PROVIDER_PRESETS[name].baseUrl)
      const models = await act(deps, 'models.list', { provider: name })
      expect(models.map(({ id }) => id).every((id) => id.startsWith(`${name}/`))).toBe(true)
    },
  )

  test('anthropic brings its models at four prices each: prompt, answer, cache read, cache write', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'anthropic', credential: 'sk-ant-x' })
    const card = await cardOf('anthropic', 'claude-haiku-4-5')
    const [price] = card.prices
    expect(card).toMatchObject({ upstreamName: 'claude-haiku-4-5', maxCompletionTokens: 64_000 })
    const { prompt, completion, cacheRead, cacheWrite } = price?.prices ?? ({} as never)
    expect(
      [prompt, completion, cacheRead, cacheWrite].map((of) => renderPrice(of ?? (0n as never))),
    ).toEqual(['0.000001', '0.000005', '0.0000001', '0.00000125'])
  })

  test('google brings what it is asked for here, and its images have a price', async () => {
    const deps = await openFurnished()
    const record = await act(deps, 'providers.add', { name: 'google', credential: 'AIza-x' })
    expect(record).toMatchObject({
      type: 'google',
      models: 19,
      base_url: 'https://generativelanguage.googleapis.com/v1beta',
    })
    const ids = (await act(deps, 'models.list', { provider: 'google' })).map(({ id }) => id)
    expect(ids).toContain('google/gemini-2.5-flash-image')
    expect(ids.filter((id) => id.includes('imagen'))).toEqual([])
    const [price] = (await cardOf('google', 'gemini-3-pro-image')).prices
    expect(price?.prices.imageOutputToken).toBe(perMillion(readPrice('120')!))
  })

  test.each(['cohere', 'voyage'] as const)(
    '%s brings what makes vectors and ranks documents, and nothing else of it',
    async (name) => {
      const deps = await openFurnished()
      await act(deps, 'providers.add', { name, credential: 'co-x' })
      const idsOf = async (surface: Dialect) =>
        (await act(deps, 'models.list', { provider: name, surface })).map(({ id }) => id)
      expect((await idsOf('embeddings')).length).toBeGreaterThan(4)
      expect((await idsOf('rerank')).length).toBeGreaterThan(2)
      for (const surface of ['chat', 'messages', 'responses'] as const) {
        expect(await idsOf(surface)).toEqual([])
      }
      const unpriced = await act(deps, 'models.list', { provider: name, unpriced: true })
      // The sources disagree.
      expect(unpriced.map(({ id }) => id)).toEqual(
        name === 'cohere' ? ['cohere/rerank-v4.0-pro'] : [],
      )
    },
  )

  test('vectors of one series may stand beside each other; others only beside their own', async () => {
    const spaces = (await catalogOf('voyage')).flatMap(({ embedding_space: space, model }) =>
      space === undefined ? [] : [[model, space]],
    )
    expect(spaces.map(([model]) => model)).toEqual(['voyage-4', 'voyage-4-large', 'voyage-4-lite'])
    expect(new Set(spaces.map(([, space]) => space)).size).toBe(1)
  })

  test('openai’s models that answer in the Responses API alone say so, and are of every surface', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'openai', credential: 'sk-x' })
    const wired = modelsOf(deps.store).filter(({ wires }) => wires !== null)
    expect(wired.every(({ wires }) => wires?.join() === 'responses')).toBe(true)
    const names = wired.map(({ upstreamName }) => upstreamName)
    expect(names).toEqual(expect.arrayContaining(['gpt-5-pro', 'gpt-5.1-codex-max', 'o1-pro']))
    expect(names.filter((name) => !/-pro$|codex|deep-research$/.test(name))).toEqual([])
    for (const surface of ['chat', 'messages', 'responses'] as const) {
      const listed = await act(deps, 'models.list', { provider: 'openai', surface })
      expect(listed.map(({ id }) => id)).toContain('openai/gpt-5-pro')
      expect(listed.map(({ id }) => id)).not.toContain('openai/text-embedding-3-small')
    }
    const embeds = await act(deps, 'models.list', { provider: 'openai', surface: 'embeddings' })
    expect(embeds.map(({ id, price }) => [id, price?.in_usd])).toEqual([
      ['openai/text-embedding-3-large', '0.13'],
      ['openai/text-embedding-3-small', '0.02'],
      ['openai/text-embedding-ada-002', '0.1'],
    ])
  })

  test('under another name its models are called by that name', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'work', type: 'openai', credential: 'sk-x' })
    const model = await act(deps, 'models.show', { model: 'work/gpt-4.1' })
    expect(model).toMatchObject({ provider: 'work', upstream: 'gpt-4.1', price: { in_usd: '2' } })
  })

  test('its bounds are the catalog’s, and those of a model that was typed are not', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'openai', credential: 'sk-x' })
    await act(deps, 'models.add', { model: 'openai/mine', context_length: 8_000 })
    const isCatalogued = async (id: string) => modelOf(deps.store, id)?.isCatalogued
    expect(await isCatalogued('openai/gpt-4.1')).toBe(true)
    expect(await isCatalogued('demo/echo')).toBe(true)
    expect(await isCatalogued('openai/mine')).toBe(false)
    const bounds = { context_length: 1_047_576, max_completion_tokens: 32_768 }
    const eu = { upstream: 'gpt-4.1', ...bounds }
    await act(deps, 'models.add', { model: 'openai/gpt-4.1-eu', ...eu })
    expect(await isCatalogued('openai/gpt-4.1-eu')).toBe(true)
    const shown = await act(deps, 'models.show', { model: 'openai/gpt-4.1' })
    expect(shown).toMatchObject({ ...bounds, is_catalogued: true, images_per_answer: 1 })
  })

  test('a model that is added by hand says how many images an answer may bring', async () => {
    const deps = await openFurnished()
    const add = (more: object) => act(deps, 'models.add', { model: 'demo/more', ...more })
    const refusal = await add({ images_per_answer: 101 }).catch((error) => error)
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      details: { param: 'images_per_answer' },
    })
    expect(await add({ images: true, images_per_answer: 4 })).toMatchObject({
      is_catalogued: false,
      images_per_answer: 4,
    })
    expect(modelOf(deps.store, 'demo/more')?.imagesPerAnswer).toBe(4)
  })

  test('a model that makes vectors or ranks documents has a price of its input alone', async () => {
    const deps = await openFurnished()
    const add = (model: string, more: object) =>
      act(deps, 'models.add', { model: `demo/${model}`, ...more } as never)
    const refused: [more: object, word: string][] = [
      [{ kind: 'embed', in_usd: '0.02', out_usd: '1' }, 'no price of its output'],
      [{ kind: 'rerank', per_search_unit_usd: '0.002', out_usd: '1' }, 'no price of its output'],
      [{ kind: 'embed', per_image_usd: [{ usd: '1' }] }, 'no price of its output'],
      [{ kind: 'embed', out_usd: '0' }, 'a price of its input is needed'],
      [{ kind: 'embed', per_search_unit_usd: '1' }, 'kind rerank'],
      [{ in_usd: '1', out_usd: '1', per_search_unit_usd: '1' }, 'kind rerank'],
      [{ kind: 'rerank', cached_in_usd: '1' }, '--per-search-unit-usd'],
      [{ in_usd: '0.02' }, 'needs both sides'],
      [{ kind: 'draw' }, ''],
      [{ embedding_space: 'ours' }, 'kind embed'],
      [{ kind: 'embed', embedding_space: 'a b' }, ''],
    ]
    for (const [more, word] of refused) {
      const refusal = await add('none', more).catch((error) => error)
      expect(refusal, JSON.stringify(more)).toMatchObject({ code: 'invalid_request' })
      expect(refusal.message).toContain(word)
    }
    const embeds = { kind: 'embed', in_usd: '0.02', embedding_space: 'ours' }
    expect(await add('vectors', embeds)).toMatchObject({
      kind: 'embed',
      embedding_space: 'ours',
      output_modalities: ['embeddings'],
      price: { in_usd: '0.02', out_usd: '0' },
    })
    expect(await add('order', { kind: 'rerank', per_search_unit_usd: '0.002' })).toMatchObject({
      output_modalities: ['rerank'],
      price: { in_usd: '0', per_search_unit_usd: '0.002' },
    })
    expect(await add('tokens', { kind: 'rerank', in_usd: '0.05' })).toMatchObject({
      kind: 'rerank',
    })
    const priced = { model: 'demo/vectors', out_usd: '1' }
    const refusal = await act(deps, 'models.price', priced).catch((error) => error)
    expect(refusal.message).toContain('no price of its output')
    const served = async (surface: 'embeddings' | 'rerank' | 'chat') =>
      (await act(deps, 'models.list', { surface })).map(({ id }) => id)
    expect(await served('embeddings')).toEqual(['demo/vectors'])
    expect(await served('rerank')).toEqual(['demo/order', 'demo/tokens'])
    expect(await served('chat')).not.toContain('demo/order')
  })

  test('a model that is added by hand says in which wires it answers', async () => {
    const deps = await openFurnished()
    const add = (wires: unknown) => act(deps, 'models.add', { model: 'demo/wired', wires } as never)
    for (const wires of [[], ['chat', 'telegraph']]) {
      const refusal = await add(wires).catch((error) => error)
      expect(refusal).toMatchObject({ code: 'invalid_request', details: { param: /^wires/ } })
    }
    expect(await add(['responses', 'chat'])).toMatchObject({ wires: ['chat', 'responses'] })
    expect(modelOf(deps.store, 'demo/wired')?.wires).toEqual(['chat', 'responses'])
  })

  test('bounds that an older program took from it are recognised, and an operator’s are not', async () => {
    const deps = await openFurnished()
    const { models } = deps.store
    await act(deps, 'providers.add', { name: 'work', type: 'openai', credential: 'sk-x' })
    const forget = async (id: string, more: Partial<ModelCard> = {}) => {
      const card = modelOf(deps.store, id)!
      await models.amend(id, { ...factsOf(card), isCatalogued: false, ...more }, anAct())
    }
    await forget('work/gpt-4.1')
    await forget('work/gpt-4.1-mini', { contextLength: 8_000 })
    await forget('work/gpt-4.1-nano', { maxCompletionTokens: null })
    await act(deps, 'providers.add', {
      name: 'other',
      type: 'openai-compatible',
      base_url: 'http://127.0.0.1:9',
      credential: null,
    })
    const same = modelOf(deps.store, 'work/gpt-4.1')!
    await models.add({ ...same, id: 'other/gpt-4.1', provider: 'other', prices: [] }, anAct())
    expect(providersOf(deps.store)).toHaveLength(3)

    await markCatalogued(deps)
    const marked = modelsOf(deps.store).filter(({ isCatalogued }) => !isCatalogued)
    expect(marked.map(({ id }) => id)).toEqual([
      'other/gpt-4.1',
      'work/gpt-4.1-mini',
      'work/gpt-4.1-nano',
    ])
    expect(modelOf(deps.store, 'work/gpt-4.1')?.prices).toEqual(same.prices)
  })

  test.each([
    [{ name: 'Acme', credential: null, base_url: 'http://h' }, 'name'],
    [{ name: 'acme', credential: null }, 'type'],
    [{ name: 'acme', credential: null, type: 'opneai' }, 'type'],
    [{ name: 'acme', credential: null, type: 'openai-compatible' }, 'base_url'],
    [{ name: 'acme', credential: null, base_url: 'ftp://h' }, 'base_url'],
    [{ name: 'acme', credential: null, base_url: 'https:h/v1' }, 'base_url'],
    [{ name: 'acme', credential: null, base_url: 'http://user:pass@h' }, 'base_url'],
    [{ name: 'acme', credential: null, base_url: 'http://h?key=1' }, 'base_url'],
    [{ name: 'acme', credential: 'if-abc', base_url: 'http://h' }, 'credential'],
    [{ name: 'acme', credential: 'two\nlines', base_url: 'http://h' }, 'credential'],
    [{ name: 'acme', credential: '', base_url: 'http://h' }, 'credential'],
  ])('%j is refused by its %s', async (input, param) => {
    const deps = await openFurnished()
    const refusal = await act(deps, 'providers.add', input).catch((error) => error)
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { param } })
    expect(await act(deps, 'providers.list', {})).toHaveLength(1)
  })

  test('a credential is sealed, and only the upstream room reads it', async () => {
    const deps = await openFurnished()
    const input = { name: 'acme', base_url: 'http://h/v1/', credential: ' sk-x\n' }
    const record = await act(deps, 'providers.add', input)
    expect(record).toMatchObject({ type: 'openai-compatible', base_url: 'http://h/v1' })
    expect(JSON.stringify(record)).not.toContain('sk-x')
    expect(await deps.store.providers.credential('acme')).toBe('sk-x')
    const again = act(deps, 'providers.add', input)
    await expect(again).rejects.toMatchObject({ code: 'already_exists' })
  })
})
