import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { both, carryOut, MODEL, QUESTION, TOOLS } from './tools.mjs'

const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, PROVIDER } = process.env
const create = {
  chat: () => new ChatOpenAI({ model: MODEL }),
  responses: () => new ChatOpenAI({ model: MODEL, useResponsesApi: true }),
  anthropic: () =>
    new ChatAnthropic({
      model: MODEL,
      maxTokens: 4_000,
      anthropicApiUrl: ANTHROPIC_BASE_URL,
      apiKey: ANTHROPIC_API_KEY,
    }),
}[PROVIDER]
const model = create().bindTools(
  TOOLS.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  })),
)

async function streamed(messages) {
  let whole
  for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk
  return whole
}

await both(async (stream) => {
  const messages = [new SystemMessage('Be brief.'), new HumanMessage(QUESTION)]
  for (;;) {
    const answer = await (stream ? streamed(messages) : model.invoke(messages))
    if (!answer.tool_calls?.length) return answer.text
    const results = answer.tool_calls.map(
      async ({ id, name, args }) =>
        new ToolMessage({ tool_call_id: id, content: await carryOut(name, args) }),
    )
    messages.push(answer, ...(await Promise.all(results)))
  }
})
