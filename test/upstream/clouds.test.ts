// What vendors answered, replayed through the clouds that serve their models: the same meaning as from the vendor itself.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProviderType } from '#domain/provider.ts'
import { startBedrock } from '#scripts/clouds/bedrock.ts'
import type { Front, Seen } from '#scripts/clouds/front.ts'
import { startVertex, type VertexFront } from '#scripts/clouds/vertex.ts'
import { type Recording, type Replay, recordings, startReplay } from '#test/support/replay.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collectFolded, type Folded, provider, request } from './fixtures.ts'

const all = recordings()
const isWhole = ({ status }: Recording): boolean => status === 200
const ofFamily = (family: string) => all.filter((recording) => recording.family === family)

const CLAUDE = 'claude-haiku-4-5'
const API_KEY = 'bedrock-api-key-1'

/** What is compared: all but the ids that the gateway gives to calls without one. */
const plain = ({ failure, ...answer }: Folded): unknown =>
  JSON.parse(
    JSON.stringify({
      ...answer,
      failure: failure && { kind: failure.kind, message: failure.message },
    }).replaceAll(/call_[0-9a-f]{32}/g, 'call'),
  )

describe.skipIf(all.length === 0)('recorded answers', () => {
  let replay: Replay
  let bedrock: Front
  let vertex: VertexFront

  beforeAll(async () => {
    const started = await startReplay()
    if (!started) throw new Error('there are recordings, but nothing that serves them')
    replay = started
    /** The name of the recording is the model's; the path is the vendor's own. */
    const ask = (vendorPath: (recording: string) => string) => async (seen: Seen) => {
      const name = /(?:\/model\/|\/models\/)([^/:]+)/.exec(seen.url.pathname)?.[1] ?? ''
      const recording = decodeURIComponent(name).replace(`${CLAUDE}.`, '').replace('..', '/')
      const { status, headers, body } = await fetch(replay.url + vendorPath(recording), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: seen.text,
      })
      return new Response(body, { status, headers: { ...pick(headers) } })
    }
    bedrock = startBedrock({ apiKey: API_KEY, ask: ask((name) => `/r/${name}/messages`) })
    vertex = startVertex({
      ask: (seen) =>
        ask((name) =>
          name.startsWith('gemini/')
            ? `/r/${name}/models/m:generateContent`
            : `/r/${name}/messages`,
        )(seen),
    })
  })
  afterAll(async () => {
    await replay?.stop()
    await bedrock?.stop()
    await vertex?.stop()
  })

  const pick = (headers: Headers): Record<string, string> =>
    Object.fromEntries(
      ['content-type', 'retry-after', 'x-should-retry'].flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      }),
    )

  const ask = async (
    recording: Recording,
    type: ProviderType,
    baseUrl: string,
    credential: string,
    model: string,
  ) => {
    const upstream = openUpstream(provider(baseUrl, type), credential)
    const asked = request({ stream: recording.stream }, { stream: recording.stream })
    return plain(
      await collectFolded(upstream.ask(call({ request: asked, type, upstreamName: model }))),
    )
  }

  const byVendor = (recording: Recording, type: ProviderType) =>
    ask(recording, type, `${replay.url}/r/${recording.name}`, 'k', CLAUDE)

  const named = ({ name }: Recording) => name.replace('/', '..')

  test.each(ofFamily('anthropic-messages').filter(isWhole))('$name through Bedrock', async (it) => {
    const model = `${CLAUDE}.${named(it)}`
    expect(await ask(it, 'bedrock', bedrock.url, API_KEY, model)).toEqual(
      await byVendor(it, 'anthropic'),
    )
  })

  test.each(ofFamily('anthropic-messages'))('$name through Vertex AI', async (it) => {
    const model = `${CLAUDE}.${named(it)}`
    expect(await ask(it, 'vertex', `${vertex.url}/v1`, vertex.keyFile, model)).toEqual(
      await byVendor(it, 'anthropic'),
    )
  })

  test.each(ofFamily('gemini'))('$name through Vertex AI', async (it) => {
    expect(await ask(it, 'vertex', `${vertex.url}/v1`, vertex.keyFile, named(it))).toEqual(
      await byVendor(it, 'google'),
    )
  })

  test.each(ofFamily('openai-chat').filter(isWhole))('$name through Bedrock', async (it) => {
    const path = `/r/${it.name}`
    const front = startBedrock({
      apiKey: API_KEY,
      ask: async ({ text }) => {
        const { status, headers, body } = await fetch(`${replay.url}${path}/chat/completions`, {
          method: 'POST',
          body: text,
        })
        return new Response(body, { status, headers: pick(headers) })
      },
    })
    try {
      expect(await ask(it, 'bedrock', front.url, API_KEY, 'openai.gpt-oss-120b-1:0')).toEqual(
        await byVendor(it, 'openai'),
      )
    } finally {
      await front.stop()
    }
  })
})
