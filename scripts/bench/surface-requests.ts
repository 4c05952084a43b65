/** Long requests of the dialects beside chat, as their clients send them. */

const TURNS = 110
const RESULT = `import { sum } from "./sum.ts"

export const balanceOf = (entries) => {
\tif (entries.length === 0) throw new Error("there is nothing to add")
\treturn sum(entries.map(({ nanos }) => nanos))
}
`
const MARK = { type: 'ephemeral' }

/** A megabyte: instructions, twenty-five tools, and a hundred turns in which a file was read. */
export const claudeCodeTurn = (model: string): object => ({
  model,
  max_tokens: 32_000,
  stream: true,
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.197; cc_entrypoint=cli;' },
    { type: 'text', text: 'You keep the books. '.repeat(700), cache_control: MARK },
  ],
  tools: Array.from({ length: 25 }, (_, n) => ({
    name: `Tool${n}`,
    description: 'Reads a file of the project, from a line on. '.repeat(40),
    input_schema: {
      type: 'object',
      properties: { file_path: { type: 'string' }, offset: { type: 'number' } },
      required: ['file_path'],
    },
  })),
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Why does the ledger balance?' }] },
    ...Array.from({ length: TURNS }, (_, n) => turn(n)).flat(),
  ],
  metadata: { user_id: '{"device_id":"bench","account_uuid":"","session_id":"bench"}' },
})

const turn = (n: number): readonly object[] => [
  {
    role: 'assistant',
    content: [
      { type: 'tool_use', id: `toolu_${n}`, name: 'Tool0', input: { file_path: `/src/${n}.ts` } },
    ],
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: `toolu_${n}`,
        content: `${RESULT.repeat(43)}${n}`,
        is_error: false,
        ...(n === TURNS - 1 && { cache_control: MARK }),
      },
    ],
  },
]

const INPUTS = 2_048

/** Paragraphs to be found again; OpenAI's SDKs ask for base64 unasked. */
export const embeddingInputs = (model: string): object => ({
  model,
  input: Array.from({ length: INPUTS }, (_, n) => `${n}. ${'A ledger balances. '.repeat(10)}`),
  encoding_format: 'base64',
})
