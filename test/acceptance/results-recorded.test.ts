/** Recorded embeddings and rerank: what was asked leaves as it was recorded, what was answered passes unchanged, at its price. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  activityOf,
  furnishCli,
  priced,
  startAppliance,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { type SurfaceRecording, surfaceRecordings } from '#test/support/surface-recordings.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: a naive reading of whatever was recorded.
type Json = any

const IN_USD = '0.13'

/** By whose recording it is: the type of its provider, and the end of the address that its base URL leaves out. */
const VENDORS: Readonly<Record<string, { type: string; operation: RegExp }>> = {
  azure: { type: 'azure', operation: /\/embeddings$/ },
  cohere: { type: 'cohere', operation: /\/v2\/(?:embed|rerank)$/ },
  'gemini-batch': { type: 'google', operation: /\/models\/.*$/ },
  mistral: { type: 'mistral', operation: /\/embeddings$/ },
  openai: { type: 'openai', operation: /\/embeddings$/ },
  openrouter: { type: 'openrouter', operation: /\/(?:embeddings|rerank)$/ },
  voyage: { type: 'voyage', operation: /\/(?:embeddings|rerank)$/ },
  llamacpp: { type: 'openai-compatible', operation: /\/rerank$/ },
}

/** Of APIs that no provider here is asked in: Ollama's own, and Vertex's for one text. */
const ELSEWHERE = new Set(['llamacpp-or-ollama', 'vertex-predict'])

const vendorOf = ({ name }: SurfaceRecording) =>
  VENDORS[name] ?? VENDORS[name.split('-')[0] ?? ''] ?? VENDORS['openai']!

/** A base URL has no query: Azure's version is none that today's API needs. */
const pathOf = ({ path }: SurfaceRecording): string =>
  path.replace(/^\/\//, '/').replace(/\?.*/, '')

const recordings = (family: 'embeddings' | 'rerank') =>
  surfaceRecordings(family).filter(({ name }) => !ELSEWHERE.has(name))
const embeddings = recordings('embeddings')
const rankings = recordings('rerank')

const cli = furnishCli(openCli())
let gateway: Appliance
let provider: Socket
let key: string
let playing: SurfaceRecording | undefined

beforeAll(async () => {
  if (embeddings.length === 0) return
  provider = await startProvider((response) => {
    const { status = 500, headers = {}, body } = playing?.response ?? {}
    response.writeHead(status, { 'content-type': headers['content-type'] ?? 'application/json' })
    response.end(JSON.stringify(body))
  })
  gateway = await startAppliance(cli)
  for (const [kind, list] of [
    ['embed', embeddings],
    ['rerank', rankings],
  ] as const) {
    for (const one of list) {
      const { type, operation } = vendorOf(one)
      const name = `${kind}-${one.name}`
      const base_url = provider.url + pathOf(one).replace(operation, '')
      await gateway.verb('providers.add', { name, type, base_url, credential: 'sk-v' } as never)
      const upstream = one.path.match(/models\/(.*):/)?.[1] ?? (one.request?.['model'] as string)
      const isByUnit = kind === 'rerank' && type === 'cohere'
      const price = isByUnit ? { per_search_unit_usd: '0.002' } : { in_usd: IN_USD }
      await gateway.verb('models.add', { model: `${name}/m`, upstream, kind, ...price } as never)
    }
  }
  key = (await gateway.verb('keys.create', { name: 'reader' })).key
})
afterAll(async () => {
  await gateway?.kill()
  await provider?.stop()
  cli.close()
})

async function ask(path: 'embeddings' | 'rerank', one: SurfaceRecording, body: Json) {
  playing = one
  provider.seen.length = 0
  const response = await fetch(`${gateway.url}/v1/${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      ...body,
      model: `${path === 'rerank' ? path : 'embed'}-${one.name}/m`,
    }),
  })
  return { response, text: await response.text(), sent: provider.seen[0] }
}

/** What a client of OpenAI's asks to have this asked of the vendor. */
function ofClient({ name, request }: SurfaceRecording): Json {
  const asked = (request ?? {}) as Json
  if (name === 'cohere') {
    const { texts, output_dimension: dimensions, input_type } = asked
    return { input: texts, dimensions, input_type }
  }
  if (name === 'gemini-batch') {
    const [{ content, outputDimensionality: dimensions, taskType: task_type }] = asked.requests
    return { input: [content.parts[0].text], dimensions, task_type }
  }
  return asked
}

const withoutNulls = (body: Json): Json =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))

describe.skipIf(embeddings.length === 0)('recorded vectors', () => {
  const good = embeddings.filter(({ response }) => response.status === 200)

  test.each(good)('$name', async (one) => {
    const { response, text, sent } = await ask('embeddings', one, ofClient(one))
    expect(response.status).toBe(200)
    expect(sent?.path).toBe(pathOf(one))
    expect(sent?.body).toEqual(withoutNulls(one.request))
    const body = one.response.body as Json
    const usage = body.usage ?? body.meta?.billed_units
    if (body.data !== undefined) expect(text).toBe(JSON.stringify(body))
    else {
      const values = body.embeddings.float ?? body.embeddings.map(({ values: own }: Json) => own)
      expect(JSON.parse(text).data.map(({ embedding }: Json) => embedding)).toEqual(values)
    }
    const row = activityOf(cli, response.headers.get('x-generation-id') ?? '')
    const tokens = usage?.input_tokens ?? usage?.prompt_tokens ?? usage?.total_tokens
    // Four bytes a token, where the vendor counts none.
    const estimated = Math.ceil(Buffer.byteLength(String(ofClient(one).input)) / 4)
    expect(row).toMatchObject({
      cost_nanos: Number(priced([tokens ?? estimated, IN_USD])),
      usage_source: tokens === undefined ? 'estimated' : 'provider',
      status: 200,
    })
  })

  test.each(embeddings.filter(({ response }) => response.status !== 200))(
    '$name is an error, for nothing',
    async (one) => {
      const { response, text } = await ask('embeddings', one, one.request)
      expect(response.status).toBe(400)
      const { error } = one.response.body as Json
      expect(JSON.parse(text).error.message).toContain(error.message)
      expect(activityOf(cli, response.headers.get('x-generation-id') ?? '')).toMatchObject({
        cost_nanos: 0,
      })
    },
  )

  test.each(good)('$name is read by the stock client', async (one) => {
    playing = one
    const { input, dimensions } = ofClient(one)
    const model = `embed-${one.name}/m`
    // A recording has the one format that was asked for.
    const isBase64 = one.request?.['encoding_format'] === 'base64'
    const { data } = await gateway.client(key).embeddings.create({
      model,
      input,
      ...(dimensions && { dimensions }),
      ...(!isBase64 && { encoding_format: 'float' as const }),
    })
    expect(data.every(({ embedding }) => embedding.length > 100)).toBe(true)
  })
})

describe.skipIf(rankings.length === 0)('a recorded order of documents', () => {
  test.each(rankings)('$name', async (one) => {
    const { response, text, sent } = await ask('rerank', one, one.request)
    expect(response.status).toBe(200)
    expect(sent?.path).toBe(one.path)
    expect(sent?.body).toEqual(withoutNulls(one.request))
    expect(text).toBe(JSON.stringify(one.response.body))
    const { usage, meta } = one.response.body as Json
    const cost = meta
      ? 2_000_000n * BigInt(meta.billed_units.search_units)
      : priced([usage.total_tokens, IN_USD])
    const row = activityOf(cli, response.headers.get('x-generation-id') ?? '')
    expect(row).toMatchObject({ status: 200, usage_source: 'provider' })
    expect(row?.['cost_nanos']).toBe(Number(cost))
  })
})
