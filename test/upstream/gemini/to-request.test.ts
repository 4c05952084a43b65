// The translation of an OpenAI request to the one that Google's own clients would send, with nothing added.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'
import { toRequest } from '#upstream/gemini/to-request.ts'
import { asked, call as callFor, request } from '../fixtures.ts'

const card = (upstreamName: string) => callFor({ upstreamName }).hop.card

const textCard = (model = 'gemini-2.5-flash'): ModelCard => ({
  ...card(model),
  outputModalities: ['text'],
})

/** The API has read these out of the body beside the body itself. */
const send = (body: JsonObject, model?: string | ModelCard) => {
  const read = request(body, {
    maxOutputTokens: (body['max_completion_tokens'] ?? body['max_tokens'] ?? null) as number | null,
    choices: (body['n'] ?? 1) as number,
    wantsImages: Array.isArray(body['modalities']) && body['modalities'].includes('image'),
  })
  return toRequest(asked(read, typeof model === 'object' ? model : textCard(model)))
}
const say = (...messages: readonly JsonObject[]) => send({ messages }).contents
const config = (body: JsonObject, model?: string | ModelCard) => send(body, model).generationConfig

const refusal = (body: JsonObject): UpstreamFailure => {
  try {
    send(body)
  } catch (thrown) {
    return thrown as UpstreamFailure
  }
  throw new Error('it was not refused')
}

const PIXEL = 'iVBORw0KGgo='
const call = (id: string, name: string, args: string, more: JsonObject = {}) => ({
  ...more,
  id,
  type: 'function',
  function: { name, arguments: args },
})

const LOW = { thinkingLevel: 'LOW', includeThoughts: true }
const MEDIUM = { thinkingLevel: 'MEDIUM', includeThoughts: true }
const HIGH = { thinkingLevel: 'HIGH', includeThoughts: true }

describe('turns', () => {
  test('instructions are sent separately, wherever they were', () => {
    const { contents, systemInstruction } = send({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      ],
    })
    expect(systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
    expect(contents).toEqual([{ role: 'user', parts: [{ text: 'hi' }] }])
  })

  test("instructions alone are sent as the user's message", () => {
    expect(send({ messages: [{ role: 'system', content: 'Tell a joke.' }] })).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Tell a joke.' }] }],
    })
  })

  test('consecutive messages of one role are one turn, and empty ones are dropped', () => {
    expect(
      say(
        { role: 'user', content: 'a' },
        { role: 'user', content: [{ type: 'text', text: 'b' }] },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: null },
        { role: 'user', content: 'c' },
        { role: 'assistant', content: 'd', reasoning_content: 'thought' },
        { role: 'assistant', content: null, refusal: 'e' },
        { role: 'user', content: 'f' },
      ),
    ).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      { role: 'model', parts: [{ text: 'd' }, { text: 'e' }] },
      { role: 'user', parts: [{ text: 'f' }] },
    ])
  })

  test('a conversation without any text is refused', () => {
    expect(refusal({ messages: [{ role: 'user', content: '' }] })).toMatchObject({
      kind: 'rejected',
      message: 'messages: none of them says anything',
    })
  })
})

describe('images and other media', () => {
  const media = (...content: readonly JsonObject[]) => say({ role: 'user', content })[0]?.parts

  test('a data URL is sent as data, any other URL is left for Google to fetch', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'high' } })
    expect(
      media(
        { type: 'text', text: 'look' },
        image(`data:image/PNG;base64,${PIXEL}`),
        image('https://images.example/a/cat.JPG?size=2'),
        image('https://images.example/cat'),
      ),
    ).toEqual([
      { text: 'look' },
      { inlineData: { mimeType: 'image/png', data: PIXEL } },
      {
        fileData: { fileUri: 'https://images.example/a/cat.JPG?size=2', mimeType: 'image/jpeg' },
      },
      { fileData: { fileUri: 'https://images.example/cat' } },
    ])
  })

  test('sound and files', () => {
    expect(
      media(
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } },
      ),
    ).toEqual([
      { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
    ])
  })

  test.each([
    [
      { type: 'video_url', video_url: {} },
      /^messages\[0\]\.content\[0\]: a part of type "video_url"/,
    ],
    // What is no word is not said as one.
    [{ type: {} }, /^messages\[0\]\.content\[0\]: a part without a type cannot be sent$/],
    [
      { type: 'file', file: { file_id: 'file-1' } },
      /^messages\[0\]\.content\[0\]\.file\.file_data/,
    ],
    [{ type: 'image_url', image_url: { url: 'gs://bucket/x' } }, /must be a data URL or an https/],
    [
      { type: 'file', file: { file_data: `data:a/b${';c=1'.repeat(9)};base64,AAAA` } },
      /must be a data URL or an https/,
    ],
  ])('content that cannot be sent is refused: %j', (part, words) => {
    const failure = refusal({ messages: [{ role: 'user', content: [part] }] })
    expect(failure).toMatchObject({ kind: 'rejected', message: expect.stringMatching(words) })
  })
})

describe('tools', () => {
  test.each([
    [{ type: 'function', name: 'f', parameters: {} }, 'tools[0].function.name'],
    [{ type: 'custom', custom: { name: 'f' } }, 'tools[0]'],
  ])('a tool that is not a named function is refused: %j', (tool, param) => {
    const failure = refusal({ messages: [{ role: 'user', content: 'go' }], tools: [tool] })
    expect(failure).toMatchObject({ kind: 'rejected', details: { param } })
  })

  const parameters = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      examples: { type: 'string', examples: ['a'] },
      kind: { const: 'city' },
      depth: { type: 'integer', exclusiveMinimum: 0, minimum: 1 },
      any: { anyOf: [{ const: 1 }, { $ref: '#/$defs/x' }] },
    },
    $defs: { x: { type: 'array', items: { type: 'string', examples: [] } } },
    required: ['examples'],
    additionalProperties: false,
  }

  test('functions are declared with their schema, except for keywords that Google refuses', () => {
    const { tools, toolConfig } = send({
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'does f', parameters, strict: true },
        },
        {
          type: 'function',
          function: { name: 'g', parameters: { type: 'object', properties: {} } },
        },
        { type: 'function', function: { name: 'h' } },
      ],
    })
    expect(toolConfig).toBeUndefined()
    expect(tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            description: 'does f',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                examples: { type: 'string' },
                kind: { enum: ['city'] },
                depth: { type: 'integer', minimum: 1 },
                any: { anyOf: [{ enum: [1] }, { $ref: '#/$defs/x' }] },
              },
              $defs: { x: { type: 'array', items: { type: 'string' } } },
              required: ['examples'],
              additionalProperties: false,
            },
          },
          { name: 'g' },
          { name: 'h' },
        ],
      },
    ])
  })

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'f' } },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
  ])('tool_choice %j', (tool_choice, functionCallingConfig) => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    expect(send({ tools, tool_choice }).toolConfig).toEqual({ functionCallingConfig })
    // A choice among no tools is none.
    expect(send({ tool_choice })).not.toHaveProperty('toolConfig')
  })

  test('W5: calls and results are matched, in parallel and over several turns', () => {
    expect(
      say(
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [call('a', 'weather', '{"city":"Rome"}'), call('b', 'time', '')],
        },
        { role: 'tool', tool_call_id: 'b', content: '12:00' },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: '{"celsius":31}' }] },
        { role: 'assistant', content: null, tool_calls: [call('a', 'alarm', '[1]')] },
        { role: 'tool', tool_call_id: 'a', content: '[1,2]' },
        { role: 'user', content: 'thanks' },
      ),
    ).toEqual([
      { role: 'user', parts: [{ text: 'weather?' }] },
      {
        role: 'model',
        parts: [
          { text: 'I look.' },
          { functionCall: { id: 'a', name: 'weather', args: { city: 'Rome' } } },
          { functionCall: { id: 'b', name: 'time', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'weather', response: { celsius: 31 } } },
          { functionResponse: { id: 'b', name: 'time', response: { result: '12:00' } } },
        ],
      },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'a', name: 'alarm', args: { input: [1] } } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'alarm', response: { result: '[1,2]' } } },
          { text: 'thanks' },
        ],
      },
    ])
  })

  test("an image in a tool's result follows the result", () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }
    const [, , last] = say(
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [call('a', 'shoot', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'done' }, image] },
    )
    expect(last?.parts).toEqual([
      { functionResponse: { id: 'a', name: 'shoot', response: { result: 'done' } } },
      { inlineData: { mimeType: 'image/png', data: PIXEL } },
    ])
  })

  test('a result without its call is refused, unless it names the function', () => {
    const result = { role: 'tool', tool_call_id: 'x', content: 'y' }
    expect(refusal({ messages: [result] })).toMatchObject({
      kind: 'rejected',
      message: 'messages[0].tool_call_id: no earlier message calls a tool by this id',
    })
    expect(say({ ...result, name: 'f' })[0]?.parts?.[0]?.functionResponse?.name).toBe('f')
  })

  test('only functions are accepted', () => {
    expect(refusal({ tools: [{ type: 'custom', custom: { name: 'f' } }] }).message).toBe(
      'tools[0]: only functions can be offered',
    )
  })
})

describe('signatures', () => {
  const UNSIGNED = 'skip_thought_signature_validator'
  const detail = (id: string | null, data: string) => ({
    type: 'reasoning.encrypted',
    format: 'google-gemini-v1',
    id,
    data,
  })
  const parts = (message: JsonObject, model = 'gemini-3-flash-preview') =>
    send({ messages: [{ role: 'assistant', ...message }] }, model).contents[0]?.parts ?? []
  const marks = (message: JsonObject, model?: string) =>
    parts(message, model).map(({ thoughtSignature }) => thoughtSignature)

  test('return in the call itself or in the details, to the part that they came with', () => {
    const extra_content = { google: { thought_signature: 'in-call' } }
    const calls = [call('a', 'f', '{}', { extra_content }), call('b', 'g', '{}')]
    expect(marks({ content: null, tool_calls: calls })).toEqual(['in-call', undefined])
    const reasoning_details = [
      detail('a', 'in-details'),
      detail('b', 'of-b'),
      detail('text', 'of-text'),
    ]
    const bare = [call('a', 'f', '{}'), call('b', 'g', '{}')]
    expect(marks({ content: 'x', tool_calls: bare, reasoning_details })).toEqual([
      'of-text',
      'in-details',
      'of-b',
    ])
    expect(marks({ content: 'x', tool_calls: calls, reasoning_details })[1]).toBe('in-call')
  })

  test('are replaced by the documented placeholder when a client lost them, for the first call of a turn only', () => {
    const tool_calls = [call('a', 'f', '{}'), call('b', 'g', '{}')]
    expect(marks({ content: 'x', tool_calls })).toEqual([undefined, UNSIGNED, undefined])
    expect(marks({ tool_calls }, 'gemini-flash-latest')).toEqual([UNSIGNED, undefined])
    // Models that never asked for one are left alone.
    expect(marks({ tool_calls }, 'gemini-2.5-pro')).toEqual([undefined, undefined])
    expect(marks({ tool_calls }, 'models/gemini-2.0-flash')).toEqual([undefined, undefined])
    expect(marks({ content: 'no calls' })).toEqual([undefined])
  })

  test('of another provider are dropped', () => {
    const foreign = { ...detail('a', 'x'), format: 'anthropic-claude-v1' }
    const tool_calls = [call('a', 'f', '{}')]
    expect(marks({ tool_calls, reasoning_details: [foreign, null] })).toEqual([UNSIGNED])
  })

  test('images of an earlier answer return signed, and so does an empty part at the end', () => {
    const images = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }]
    expect(
      parts({
        content: '',
        images,
        reasoning_details: [detail('image:0', 's'), detail('end', 't')],
      }),
    ).toEqual([
      { inlineData: { mimeType: 'image/png', data: PIXEL }, thoughtSignature: 's' },
      { text: '', thoughtSignature: 't' },
    ])
    // OpenRouter names no part: it is the text, the last of its parts.
    const content = ['a', 'b'].map((text) => ({ type: 'text', text }))
    expect(marks({ content, reasoning_details: [detail(null, 't')] })).toEqual([undefined, 't'])
  })
})

describe('generation settings', () => {
  test('nothing is sent when nothing is requested', () => {
    expect(
      send({ user: 'u', store: true, metadata: {}, stream_options: {}, service_tier: 'x' }),
    ).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  })

  test('every numeric parameter is translated', () => {
    expect(
      config({
        temperature: 0,
        top_p: 0.9,
        top_k: 40,
        max_tokens: 7,
        n: 2,
        seed: 3,
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
        stop: ['a', 'b'],
        logprobs: true,
        top_logprobs: 4,
      }),
    ).toEqual({
      temperature: 0,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 7,
      candidateCount: 2,
      seed: 3,
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      stopSequences: ['a', 'b'],
      responseLogprobs: true,
      logprobs: 4,
    })
    expect(config({ stop: 'x', top_logprobs: 4 })).toEqual({ stopSequences: ['x'] })
  })

  test('safety settings are passed on unchanged', () => {
    const safety_settings = [{ category: 'HARM_CATEGORY_HATE_SPEECH', threshold: 'BLOCK_NONE' }]
    expect(send({ safety_settings }).safetySettings).toEqual(safety_settings)
  })

  test('JSON is requested, with or without a schema', () => {
    const schema = { type: 'object', properties: { a: { const: 1 } }, $schema: 'x' }
    expect(config({ response_format: { type: 'json_object' } })).toEqual({
      responseMimeType: 'application/json',
    })
    expect(
      config({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }),
    ).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { a: { enum: [1] } } },
    })
    expect(config({ response_format: { type: 'text' } })).toBeUndefined()
    expect(refusal({ response_format: { type: 'grammar' } }).kind).toBe('rejected')
  })

  test('a model that draws gets text as its only modality when no image is requested', () => {
    const painter = card('gemini-2.5-flash-image')
    expect(config({}, painter)).toEqual({ responseModalities: ['TEXT'] })
    expect(config({ modalities: ['image'] }, painter)).toEqual({ responseModalities: ['IMAGE'] })
    expect(
      config(
        {
          modalities: ['image', 'text'],
          image_config: { aspect_ratio: '16:9', image_size: '2K', quality: 'high' },
        },
        painter,
      ),
    ).toEqual({
      responseModalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
    })
  })

  test.each([
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-2.5-flash', 'minimal', { thinkingBudget: 1_024, includeThoughts: true }],
    ['gemini-2.5-flash', 'low', { thinkingBudget: 1_024, includeThoughts: true }],
    ['gemini-2.5-flash', 'medium', { thinkingBudget: 8_192, includeThoughts: true }],
    ['gemini-2.5-flash', 'high', { thinkingBudget: 24_576, includeThoughts: true }],
    ['gemini-2.5-pro', 'none', { thinkingBudget: 128 }],
    ['gemini-3-flash-preview', 'none', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3-flash-preview', 'medium', { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    ['gemini-3-pro-preview', 'medium', { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'medium', { thinkingLevel: 'MEDIUM', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'minimal', { thinkingLevel: 'LOW', includeThoughts: true }],
    ['gemini-3.1-pro-preview', 'xhigh', { thinkingLevel: 'HIGH', includeThoughts: true }],
  ])('%s thinks %s', (model, reasoning_effort, thinkingConfig) => {
    expect(config({ reasoning_effort }, model)).toEqual({ thinkingConfig })
  })

  test.each([
    ['gemini-2.5-flash', { effort: 'high' }, { thinkingBudget: 24_576, includeThoughts: true }],
    ['gemini-2.5-flash', { effort: 'none' }, { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { enabled: false }, { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { enabled: true }, { thinkingBudget: 8_192, includeThoughts: true }],
    ['gemini-2.5-flash', { max_tokens: 4_000 }, { thinkingBudget: 4_000, includeThoughts: true }],
    ['gemini-2.5-flash-lite', { max_tokens: 1 }, { thinkingBudget: 512, includeThoughts: true }],
    ['gemini-2.5-pro', { max_tokens: 1e6 }, { thinkingBudget: 24_576, includeThoughts: true }],
    ['gemini-3-flash-preview', { max_tokens: 4_000 }, LOW],
    ['gemini-3-flash-preview', { max_tokens: 9_000, effort: null }, MEDIUM],
    ['gemini-3-flash-preview', { max_tokens: 1e6 }, HIGH],
    ['gemini-3-flash-preview', { effort: 'low', max_tokens: 1e6 }, LOW],
    ['gemini-3-flash-preview', { enabled: false, max_tokens: 9_000 }, { thinkingLevel: 'MINIMAL' }],
  ])('%s thinks as OpenRouter says it: %j', (model, reasoning, thinkingConfig) => {
    expect(config({ reasoning }, model)).toEqual({ thinkingConfig })
    // OpenAI's own word wins.
    for (const reasoning_effort of ['none', 'high']) {
      const both = config({ reasoning, reasoning_effort }, model)
      expect(both).toEqual(config({ reasoning_effort }, model))
    }
  })

  test.each([
    ['gemini-2.5-flash', { reasoning_effort: 'high' }, 10_000, 8_976],
    ['gemini-2.5-flash', { reasoning_effort: 'low' }, 1_500, 0],
    ['gemini-2.5-pro', { reasoning_effort: 'high' }, 10_000, 8_976],
    ['gemini-2.5-pro', { reasoning_effort: 'high' }, 100, 128],
    ['gemini-2.5-flash', { reasoning: { max_tokens: 4_000 } }, 2_000, 4_000],
  ])('%s with %j within %i tokens thinks at most %i', (model, effort, max_tokens, budget) => {
    const sent = config({ ...effort, max_tokens }, model)
    expect(sent?.maxOutputTokens).toBe(max_tokens)
    expect(sent?.thinkingConfig).toEqual({
      thinkingBudget: budget,
      ...(budget > 0 && { includeThoughts: true }),
    })
  })

  test('nothing is sent about thinking where nothing is requested', () => {
    for (const reasoning of [{}, { exclude: true }, null, 'high']) {
      expect(config({ reasoning }, 'gemini-2.5-flash')).toBeUndefined()
    }
  })

  test('an unknown effort is refused', () => {
    expect(refusal({ reasoning: { effort: 'much' } }).message).toMatch(/^reasoning_effort: must/)
    expect(refusal({ reasoning_effort: 'constructor' }).message).toMatch(
      /^reasoning_effort: must be/,
    )
  })

  test.each([
    { logit_bias: { 5: 1 } },
    { audio: { voice: 'x' } },
    { functions: [{}] },
    { function_call: 'auto' },
  ])('a field that would change the answer and has no equivalent is refused: %j', (body) => {
    expect(refusal(body)).toMatchObject({
      kind: 'rejected',
      message: `${Object.keys(body)[0]}: this provider has nothing like it`,
    })
    expect(send({ logit_bias: {}, functions: [], audio: null })).not.toHaveProperty(
      'generationConfig',
    )
  })
})
