// What other clients sent to OpenAI-compatible providers is sent on unchanged: every difference is listed here.
import { describe, expect, test } from 'vitest'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { recordings } from '#test/support/replay.ts'
import { recordedRequest, serveRequests, type Wire } from '../recorded-requests.ts'

const FAMILIES: Readonly<Record<string, ProviderType>> = {
  'openai-chat': 'openai',
  'openai-images': 'openai',
  openrouter: 'openrouter',
  groq: 'groq',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  'other-openai-compatible': 'openai-compatible',
}
const typeOf = (name: string): ProviderType =>
  FAMILIES[name.split('/', 1)[0] ?? ''] ?? 'openai-compatible'

const ours = recordings().filter(({ family }) => family in FAMILIES)
const names = ours.map(({ name }) => name).filter((name) => recordedRequest(name) !== null)
const chats = names.filter((name) => !name.startsWith('openai-images/'))

/** A client's request, without the fields that the gateway refuses or handles itself. */
function asked({ provider, modalities, ...rest }: Wire): Wire {
  const { only: _, ...routing } = provider ?? {}
  return {
    ...rest,
    ...(provider && { provider: routing }),
    // Images do not stream (contract §7).
    ...(modalities && !rest.stream && { modalities }),
  }
}

/** The fields that are added: the gateway needs the usage of every answer, whatever the client requested. */
const added = (type: ProviderType, { stream, stream_options, modalities }: Wire) => ({
  ...(stream &&
    PROVIDER_PRESETS[type].asksForUsage && {
      stream_options: { ...stream_options, include_usage: true },
    }),
  ...(type === 'openrouter' && { usage: { include: true } }),
  // Every card of this test can draw; where no image is asked for, the model is told to write.
  ...(type === 'openrouter' && !modalities && { modalities: ['text'] }),
})

/** The bound of an answer, in both words: the provider is not at its vendor's address. */
const bounded = (theirs: Wire) => {
  const bound = theirs.max_completion_tokens ?? theirs.max_tokens
  return bound === undefined ? {} : { max_tokens: bound, max_completion_tokens: bound }
}

const REFUSED_HERE = ['deepseek/error-422-text', 'mistral/error-422-detail']

describe.skipIf(ours.length === 0)('recorded requests', () => {
  const { ask } = serveRequests(typeOf)

  test('are nearly all there', () => {
    expect(ours).toHaveLength(63)
    expect(names).toHaveLength(59)
  })

  test.each(chats.filter((name) => !REFUSED_HERE.includes(name)))('%s', async (name) => {
    const theirs = recordedRequest(name)
    const body = asked(theirs)
    const { sent } = await ask(name, body, { upstreamName: theirs.model, draws: true })
    expect(sent?.path).toBe(`/r/${name}/chat/completions`)
    // Routing between providers is the gateway's (contract §7).
    const { provider: _, max_tokens: _old, max_completion_tokens: _new, ...passedOn } = body
    expect(sent?.body).toEqual({ ...passedOn, ...added(typeOf(name), body), ...bounded(theirs) })
  })

  test.each(REFUSED_HERE)('%s: what is no message is refused before it is sent', async (name) => {
    const theirs = recordedRequest(name)
    const { status, sent } = await ask(name, theirs, { upstreamName: theirs.model })
    expect({ status, sent }).toEqual({ status: 400, sent: undefined })
  })

  test.each(names.filter((name) => name.startsWith('openai-images/')))(
    '%s: a chat that asks for an image is a drawing there',
    async (name) => {
      const { model, prompt, n, size, quality } = recordedRequest(name)
      const body = {
        messages: [{ role: 'user', content: prompt }],
        modalities: ['image'],
        image_config: { size, ...(quality && { quality }) },
        n,
      }
      const { sent } = await ask(name, body, { upstreamName: model, draws: true })
      expect(sent?.path).toBe(`/r/${name}/images/generations`)
      // One image is what it draws unasked; DALL·E sends an address unless it is asked for the bytes.
      const bytes = model.startsWith('dall-e') && { response_format: 'b64_json' }
      expect(sent?.body).toEqual({ model, prompt, size, ...(quality && { quality }), ...bytes })
    },
  )
})
