// The translation of an OpenAI request, field by field, compared with what other clients really sent for the same purpose.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { recordings } from '#test/support/replay.ts'
import { recordedRequest, serveRequests, type Wire } from '../recorded-requests.ts'

const recorded = (slug: string): Wire => recordedRequest(`anthropic-messages/${slug}`)

/** The wire's two ways to say the same: a text alone, or a list with one text in it; `false`, or nothing. */
function plain({ stream, ...body }: Wire): Wire {
  const messages = body.messages.map(({ role, content }: Wire) => ({
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  }))
  return { ...body, messages, ...(stream && { stream }) }
}

const user = (content: unknown) => ({ role: 'user', content })
const texts = (blocks: Wire): string => blocks.map(({ text }: Wire) => text).join('')

/** A tool of the recordings whose client put `strict` inside the schema, where it says nothing. */
const tool = ({ name, description, input_schema: schema }: Wire) => ({
  type: 'function',
  function: { name, ...(description && { description }), parameters: schema },
})

describe.skipIf(recordings().length === 0)('recorded requests', () => {
  const { ask } = serveRequests(() => 'anthropic')

  /** What Anthropic gets for a client's body, asked of the model of that recording. */
  const sent = async (slug: string, body: JsonObject): Promise<Wire> => {
    const name = `anthropic-messages/${slug}`
    const { sent } = await ask(name, body, { upstreamName: recorded(slug).model })
    expect(sent?.path).toBe(`/r/${name}/messages`)
    return sent?.body
  }

  test.each([
    'plain-text',
    'max-tokens',
    'error-429-retry-after',
    'error-429-no-retry-after',
    'error-400-prompt-too-long',
  ])('%s', async (slug) => {
    const { model, max_tokens, messages, tools } = recorded(slug)
    const ours = await sent(slug, {
      model,
      max_tokens,
      messages: plain({ messages }).messages,
      ...(tools && { tools: tools.map(tool), tool_choice: 'none' }),
    })
    expect(ours).toEqual(plain(recorded(slug)))
  })

  test.each(['cache-read', 'cache-write'])(
    '%s: cache marks stay where they stand',
    async (slug) => {
      const theirs = recorded(slug)
      const ours = await sent(slug, {
        model: theirs.model,
        max_completion_tokens: theirs.max_tokens,
        messages: [{ role: 'system', content: theirs.system[0].text }, ...theirs.messages],
      })
      expect(ours).toEqual(theirs)
      expect(ours.messages[0].content.at(-1).cache_control).toEqual({ type: 'ephemeral' })
    },
  )

  test('stream-text', async () => {
    const theirs = recorded('stream-text')
    const body = { model: theirs.model, max_tokens: 8192, messages: [user('Say just hello')] }
    expect(await sent('stream-text', { ...body, temperature: 1, stream: true })).toEqual(theirs)
  })

  test('stream-thinking: a budget for an effort, and no temperature beside it', async () => {
    const theirs = recorded('stream-thinking')
    const ours = await sent('stream-thinking', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      messages: theirs.messages,
      temperature: 1,
      reasoning_effort: 'minimal',
      stream: true,
    })
    const { temperature, ...rest } = theirs
    expect(temperature).toBe(1)
    expect(ours).toEqual({ ...rest, thinking: { type: 'enabled', budget_tokens: 1024 } })
  })

  test('stream-tool-use: a description without words goes out as it came', async () => {
    const theirs = recorded('stream-tool-use')
    const [{ name, input_schema: parameters }] = theirs.tools
    const ours = await sent('stream-tool-use', {
      model: theirs.model,
      max_tokens: 8192,
      messages: theirs.messages,
      temperature: 1,
      tools: [{ type: 'function', function: { name, description: '', parameters } }],
      stream: true,
    })
    expect(ours).toEqual(theirs)
  })

  test.each(['stream-tool-no-args', 'tool-parallel', 'error-529-overloaded'])(
    '%s',
    async (slug) => {
      const theirs = recorded(slug)
      const ours = await sent(slug, {
        model: theirs.model,
        max_tokens: theirs.max_tokens,
        messages: [
          ...(theirs.system ? [{ role: 'developer', content: texts(theirs.system) }] : []),
          ...theirs.messages,
        ],
        temperature: theirs.temperature,
        tools: theirs.tools.map(tool),
        stream: theirs.stream,
      })
      expect(ours).toEqual(plain(theirs))
    },
  )

  test('tool-results: calls and their results come back as blocks', async () => {
    const theirs = recorded('tool-results')
    const [question, calls, results] = theirs.messages
    const ours = await sent('tool-results', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      messages: [
        question,
        {
          role: 'assistant',
          content: null,
          tool_calls: calls.content.map(({ id, name, input }: Wire) => ({
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(input) },
          })),
        },
        ...results.content.map((result: Wire) => ({
          role: 'tool',
          tool_call_id: result.tool_use_id,
          content: texts(result.content),
        })),
      ],
      tools: theirs.tools.map(tool),
    })
    expect(ours).toEqual(plain(theirs))
  })

  test('system-multi-turn', async () => {
    const theirs = recorded('system-multi-turn')
    const ours = await sent('system-multi-turn', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      temperature: 0,
      messages: [
        { role: 'system', content: texts(theirs.system) },
        ...theirs.messages.map(({ role, content }: Wire) => ({ role, content: texts(content) })),
      ],
    })
    expect(ours).toEqual(plain(theirs))
  })

  test('structured-output', async () => {
    const theirs = recorded('structured-output')
    const { schema } = theirs.output_config.format
    const ours = await sent('structured-output', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      messages: theirs.messages,
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema } },
    })
    expect(ours).toEqual(plain(theirs))
  })

  test('error-500: the field’s beta name is not ours', async () => {
    const { output_format: format, ...theirs } = recorded('error-500')
    const ours = await sent('error-500', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      messages: theirs.messages,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'joke', schema: format.schema, strict: true },
      },
    })
    expect(ours).toEqual({ ...plain(theirs), output_config: { format } })
  })

  test('thinking: signed thoughts come back in their place', async () => {
    const theirs = recorded('thinking')
    const [question, answer, next] = theirs.messages
    const [thought, text] = answer.content
    const ours = await sent('thinking', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      reasoning_effort: 'minimal',
      messages: [
        question,
        {
          role: 'assistant',
          content: text.text,
          reasoning_content: thought.thinking,
          reasoning_details: [
            {
              type: 'reasoning.text',
              text: thought.thinking,
              signature: thought.signature,
              format: 'anthropic-claude-v1',
              index: 0,
            },
          ],
        },
        next,
      ],
    })
    expect(ours).toEqual(plain(theirs))
  })

  test('redacted-thinking', async () => {
    const theirs = recorded('redacted-thinking')
    const { model, max_tokens, messages } = theirs
    const ours = await sent('redacted-thinking', {
      model,
      max_tokens,
      messages,
      reasoning_effort: 'minimal',
    })
    expect(ours).toEqual(plain(theirs))
  })

  test('vision-base64', async () => {
    const theirs = recorded('vision-base64')
    const [text, { source }] = theirs.messages[0].content
    const url = `data:${source.media_type};base64,${source.data}`
    const ours = await sent('vision-base64', {
      model: theirs.model,
      max_tokens: theirs.max_tokens,
      messages: [user([text, { type: 'image_url', image_url: { url, detail: 'high' } }])],
    })
    expect(ours).toEqual(plain(theirs))
  })
})
