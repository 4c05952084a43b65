/** The turn that every client is to finish: the model calls two tools at once, gets both results, and says a last word. */

export type Json = Readonly<Record<string, unknown>>

export interface ToolCall {
  readonly tool: string
  readonly args: Json
  /** Stands in the result where the tool was called with these arguments, and nowhere else. */
  readonly result: string
}

export interface Turn {
  /** None for a client without tools. */
  readonly calls: readonly ToolCall[]
  readonly text: string
}

/** What the model says at once. */
export type Saying =
  | { readonly calls: readonly ToolCall[]; readonly text?: never }
  | { readonly text: string; readonly calls?: never }

/** Tokens by disjoint classes, as a provider counts them. */
export interface Counted {
  readonly input: number
  readonly cached: number
  readonly output: number
}

/** Dollars per million tokens, of every model. */
export const USD = { input: 3, cached: 0.3, output: 15 } as const

/** In nano-dollars: tokens times dollars per million are micro-dollars. */
export const costNanos = ({ input, cached, output }: Counted): number =>
  Math.round(1_000 * (input * USD.input + cached * USD.cached + output * USD.output))

export const countedOf = ({ calls }: Saying): Counted =>
  calls ? { input: 321, cached: 64, output: 45 } : { input: 402, cached: 128, output: 17 }

/** For clients that bring tools of ours: `programs/tools.*` answers so. */
export const OUR_CALLS: readonly ToolCall[] = [
  { tool: 'weather', args: { city: 'Reykjavík' }, result: 'weather of Reykjavík: 9' },
  { tool: 'clock', args: { zone: 'Europe/Oslo' }, result: 'clock of Europe/Oslo: 11' },
]

/** In pieces as a stream brings them. */
export const pieces = (text: string): readonly string[] => text.match(/.{1,7}/gsu) ?? []
