import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import { both, MODEL, QUESTION, TOOLS } from './tools.mjs'

setTracingDisabled(true) // traces would be sent to OpenAI
const agent = new Agent({
  name: 'guide',
  instructions: 'Be brief.',
  model: MODEL,
  tools: TOOLS.map(({ name, description, parameters, run: execute }) =>
    tool({ name, description, parameters, execute }),
  ),
})

await both(async (stream) => {
  const result = await run(agent, QUESTION, { stream })
  if (stream) await result.completed
  return result.finalOutput
})
