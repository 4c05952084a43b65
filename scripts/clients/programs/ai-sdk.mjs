import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { both, MODEL, QUESTION, TOOLS } from './tools.mjs'

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, PROVIDER } = process.env
const create = {
  'openai-compatible': () =>
    createOpenAICompatible({ name: 'gateway', baseURL, apiKey, includeUsage: true }),
  openai: () => createOpenAI({ baseURL, apiKey }),
  anthropic: () => createAnthropic({ baseURL, apiKey }),
}[PROVIDER]

const asked = {
  model: create()(MODEL),
  providerOptions: { openai: { store: false } },
  system: 'Be brief.',
  prompt: QUESTION,
  stopWhen: stepCountIs(5),
  tools: Object.fromEntries(
    TOOLS.map(({ name, description, parameters, run }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters), execute: run }),
    ]),
  ),
}
await both(
  async (stream) =>
    await (stream ? streamText(asked).text : generateText(asked).then((answer) => answer.text)),
)
