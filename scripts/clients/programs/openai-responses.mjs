import OpenAI from 'openai'
import { both, carryOut, MODEL, QUESTION, TOOLS } from './tools.mjs'

const client = new OpenAI()
const tools = TOOLS.map(({ name, description, parameters }) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: true,
}))

await both(async (stream) => {
  const input = [{ role: 'user', content: QUESTION }]
  for (;;) {
    const asked = { model: MODEL, instructions: 'Be brief.', input, tools, store: false }
    const answer = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked)
    const calls = answer.output.filter((item) => item.type === 'function_call')
    if (calls.length === 0) return answer.output_text
    const results = calls.map(async ({ call_id, name, arguments: args }) => ({
      type: 'function_call_output',
      call_id,
      output: await carryOut(name, JSON.parse(args)),
    }))
    input.push(...answer.output, ...(await Promise.all(results)))
  }
})
