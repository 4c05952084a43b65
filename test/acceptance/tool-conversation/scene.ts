/** The conversation that is played on every wire: what is asked, what the model says at each step, and what it counts. */
import type { JsonObject } from '#domain/chat.ts'

export const SYSTEM = 'Be brief.'
export const QUESTION = 'How warm is it in Rome and Осло today?'
export const FOLLOW_UP = 'Where would a fox rather be? 🦊'

export interface Called {
  readonly name: string
  readonly args: JsonObject
}

/** What the model says at one step: a thought, then calls or words. */
export interface Step {
  readonly thought?: { readonly text: string; readonly signature: string }
  readonly calls?: readonly Called[]
  readonly text?: string
}

export const STEPS: readonly Step[] = [
  {
    thought: { text: 'Two cities — two calls.', signature: 'c2lnbmVkLTA=' },
    calls: [
      { name: 'weather', args: { city: 'Rome' } },
      { name: 'weather', args: { city: 'Осло' } },
    ],
  },
  {
    thought: { text: 'Which day is it?', signature: 'c2lnbmVkLTE=' },
    calls: [{ name: 'today', args: {} }],
  },
  {
    thought: { text: 'Now I know.', signature: 'c2lnbmVkLTI=' },
    text: '23 августа: Rome 31 °C, Осло 9 °C — 漢字.',
  },
  { text: 'In Осло. 🦊🏔️' },
]

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** What carrying it out gives, as the client sends it back. */
  readonly carryOut: (args: JsonObject) => string
}

export const TOOLS: readonly Tool[] = [
  {
    name: 'weather',
    description: 'Weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'the city' } },
      required: ['city'],
    },
    carryOut: ({ city }) => (city === 'Rome' ? '{"celsius":31}' : '{"celsius":9}'),
  },
  {
    name: 'today',
    description: 'The date',
    parameters: { type: 'object', properties: {} },
    carryOut: () => '2026-08-23',
  },
]

/** What the client answers to the calls of a step. */
export const resultsOf = ({ calls = [] }: Step): readonly string[] =>
  calls.map(({ name, args }) => TOOLS.find((tool) => tool.name === name)?.carryOut(args) ?? '')

/** Counted alike by every provider: the prompt with its cached part, and the output with its thinking. */
export const COUNTS = STEPS.map(({ thought }, step) => ({
  prompt: 100 * (step + 1),
  cached: 40 * step,
  output: 20 + step,
  thinking: thought ? 5 : 0,
}))

/** Text in two pieces, as a stream has it. */
export const halves = (text: string): readonly string[] => {
  const middle = text.length >> 1
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
}
