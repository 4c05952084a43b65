import Anthropic from '@anthropic-ai/sdk'
import { both, carryOut, MODEL, QUESTION, TOOLS } from './tools.mjs'

const client = new Anthropic()
const asked = {
  model: MODEL,
  max_tokens: 4_000,
  system: 'Be brief.',
  thinking: { type: 'enabled', budget_tokens: 2_000 },
}
const tools = TOOLS.map(({ name, description, parameters }) => ({
  name,
  description,
  input_schema: parameters,
}))
const textOf = ({ content }) => content.map((block) => block.text ?? '').join('')

async function streamed() {
  const messages = [{ role: 'user', content: QUESTION }]
  for (;;) {
    const answer = await client.messages.stream({ ...asked, messages, tools }).finalMessage()
    const calls = answer.content.filter(({ type }) => type === 'tool_use')
    if (calls.length === 0) return textOf(answer)
    const results = calls.map(async ({ id, name, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: await carryOut(name, input),
    }))
    messages.push(
      { role: 'assistant', content: answer.content },
      { role: 'user', content: await Promise.all(results) },
    )
  }
}

async function ran() {
  const answer = await client.beta.messages.toolRunner({
    ...asked,
    messages: [{ role: 'user', content: QUESTION }],
    tools: tools.map((tool) => ({
      ...tool,
      type: 'custom',
      parse: (input) => input,
      run: (input) => carryOut(tool.name, input),
    })),
  })
  return textOf(answer)
}

await both((stream) => (stream ? streamed() : ran()))
