import OpenAI from 'openai'
import { both, MODEL, QUESTION, TOOLS } from './tools.mjs'

const client = new OpenAI()
const tools = TOOLS.map(({ name, description, parameters, run }) => ({
  type: 'function',
  function: { name, description, parameters, function: run, parse: JSON.parse },
}))

await both((stream) =>
  client.chat.completions
    .runTools({
      model: MODEL,
      stream,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: QUESTION },
      ],
      tools,
    })
    .finalContent(),
)
