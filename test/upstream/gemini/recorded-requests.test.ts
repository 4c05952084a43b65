// What Google's own clients sent, and what the gateway sends for the same purpose: every difference is listed, with its reason.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { recordings } from '#test/support/replay.ts'
import { recordedRequest, serveRequests, type Wire } from '../recorded-requests.ts'

const user = (content: unknown) => ({ role: 'user', content })
const system = (content: string) => ({ role: 'system', content })
const tool = (name: string, description: string, parameters: JsonObject) => ({
  type: 'function',
  function: { name, description, parameters },
})
const declaration = (body: Wire) => body.tools[0].functionDeclarations[0]

/** Their schemas spell types in capitals; ours are JSON Schema, in the field that is made for it. */
function lowered(schema: Wire): Wire {
  if (Array.isArray(schema)) return schema.map(lowered)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'type' ? (value as string).toLowerCase() : lowered(value),
    ]),
  )
}

interface Case {
  readonly name: string
  readonly body: (theirs: Wire) => JsonObject
  /** Turns what they sent into what we send. */
  readonly differences?: (theirs: Wire) => void
}

const withoutRole = (theirs: Wire): void => {
  // The SDK says `role: "user"` beside instructions; the API does not read it.
  delete theirs.systemInstruction.role
}
const bySchema = (theirs: Wire): void => {
  const { parameters, ...rest } = declaration(theirs)
  theirs.tools[0].functionDeclarations = [{ ...rest, parametersJsonSchema: lowered(parameters) }]
}
const withoutEmptyConfig = (theirs: Wire): void => {
  delete theirs.generationConfig
}

const text = (theirs: Wire): string => theirs.contents[0].parts[0].text
/** A conversation of texts alone. */
const said = (theirs: Wire) =>
  theirs.contents.map(({ role, parts }: Wire) => ({
    role: role === 'model' ? 'assistant' : 'user',
    content: parts[0].text,
  }))
const instructions = (theirs: Wire): string => theirs.systemInstruction.parts[0].text
const toolOf = (theirs: Wire) => {
  const { name, description, parameters } = declaration(theirs)
  return tool(name, description, lowered(parameters))
}

const CASES: readonly Case[] = [
  { name: 'plain-text', body: (theirs) => ({ messages: [user(text(theirs))], max_tokens: 100 }) },
  {
    name: 'max-tokens',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      temperature: 0.7,
      max_completion_tokens: 50,
    }),
    differences: withoutRole,
  },
  {
    name: 'max-tokens-no-content',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      max_tokens: 5,
    }),
    differences: (theirs) => {
      withoutRole(theirs)
      // A model that answers with text alone need not be told to.
      delete theirs.generationConfig.responseModalities
    },
  },
  {
    name: 'function-call',
    body: (theirs) => ({
      messages: [user(text(theirs))],
      tools: [toolOf(theirs)],
      max_tokens: 500,
    }),
    differences: bySchema,
  },
  {
    name: 'stream-function-call',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      tools: [toolOf(theirs)],
      tool_choice: 'auto',
      max_tokens: 4000,
    }),
    differences: (theirs) => {
      withoutRole(theirs)
      bySchema(theirs)
    },
  },
  {
    name: 'stream-parallel-function-calls',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      tools: [toolOf(theirs)],
    }),
    differences: (theirs) => {
      withoutRole(theirs)
      bySchema(theirs)
      withoutEmptyConfig(theirs)
    },
  },
  {
    name: 'stream-text-crlf',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      temperature: 0,
    }),
    differences: withoutRole,
  },
  {
    name: 'stream-thinking',
    body: (theirs) => ({ messages: [user(text(theirs))], reasoning_effort: 'medium' }),
    differences: (theirs) => {
      // Its client spelt the fields in snake case and chose its own budget; ours is the one of "medium".
      expect(theirs.generationConfig.thinkingConfig).toEqual({
        include_thoughts: true,
        thinking_budget: 6400,
      })
      theirs.generationConfig.thinkingConfig = { includeThoughts: true, thinkingBudget: 8192 }
    },
  },
  {
    name: 'safety-stop',
    body: (theirs) => ({
      messages: [system(instructions(theirs)), user(text(theirs))],
      safety_settings: theirs.safetySettings,
    }),
    differences: (theirs) => {
      withoutRole(theirs)
      withoutEmptyConfig(theirs)
    },
  },
  {
    name: 'image-output',
    body: (theirs) => ({
      messages: [user(text(theirs))],
      modalities: ['text', 'image'],
      temperature: 0,
      seed: 1014,
    }),
    differences: (theirs) => {
      // Empty instructions are none; images are asked for by name, so that no default decides.
      delete theirs.systemInstruction
      theirs.generationConfig.responseModalities = ['TEXT', 'IMAGE']
    },
  },
  {
    name: 'vision-inline-data',
    body: (theirs) => {
      const { mime_type, data } = theirs.contents[0].parts[1].inline_data
      const url = `data:${mime_type};base64,${data}`
      return {
        messages: [
          user([
            { type: 'text', text: text(theirs) },
            { type: 'image_url', image_url: { url } },
          ]),
        ],
      }
    },
    differences: (theirs) => {
      const { mime_type: mimeType, data } = theirs.contents[0].parts[1].inline_data
      theirs.contents[0].parts[1] = { inlineData: { mimeType, data } }
      withoutEmptyConfig(theirs)
    },
  },
  ...['error-400-api-key', 'error-404-stream'].map((name) => ({
    name,
    body: (theirs: Wire) => ({ messages: said(theirs) }),
  })),
  {
    name: 'error-429-retryinfo',
    body: (theirs) => ({ messages: said(theirs) }),
    differences: withoutEmptyConfig,
  },
  {
    name: 'error-403',
    body: (theirs) => ({
      messages: said(theirs),
      safety_settings: theirs.safetySettings,
      n: 1,
      max_tokens: 2048,
      temperature: 0.5,
      top_p: 0.95,
      top_k: 3,
    }),
    differences: (theirs) => {
      // The model stands in the address; one candidate is what there is unasked; a lone turn is the user's.
      delete theirs.model
      delete theirs.generationConfig.candidateCount
      theirs.contents[0].role = 'user'
    },
  },
]

/** The gateway offers no explicit caches, no search in the operator's files and no file filters. */
const NOT_OURS = ['cached-content', 'error-503-overloaded', 'prompt-blocked']

const here = recordings().some(({ family }) => family === 'gemini')

describe.skipIf(!here)('recorded requests', () => {
  const { ask } = serveRequests(() => 'google')

  test('are all here, but for what cannot be asked', () => {
    const all = recordings().flatMap(({ family, name }) =>
      family === 'gemini' ? name.slice('gemini/'.length) : [],
    )
    expect([...CASES.map(({ name }) => name), ...NOT_OURS].sort()).toEqual(all.toSorted())
  })

  test.each(CASES.map((one) => [one.name, one] as const))('%s', async (slug, one) => {
    const theirs = recordedRequest(`gemini/${slug}`)
    const isStream = slug.includes('stream')
    const body = { ...one.body(structuredClone(theirs)), ...(isStream && { stream: true }) }
    one.differences?.(theirs)
    const { sent } = await ask(`gemini/${slug}`, body, {
      upstreamName: 'gemini-2.5-flash',
      draws: 'modalities' in body,
    })
    const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    expect(sent?.path).toBe(`/r/gemini/${slug}/models/gemini-2.5-flash:${operation}`)
    expect(sent?.body).toEqual(theirs)
  })
})
