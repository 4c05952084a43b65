/** What can be heard of an answer, whichever wire it came on: the words of the three readings beside this file. */

// biome-ignore lint/suspicious/noExplicitAny: a naive reading of whatever a provider sent.
export type Wire = any

/** What an application must be able to see of an answer. */
export interface Said {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly Call[]
  /** Data URLs: the bytes are in them. */
  readonly images: readonly string[]
}

export interface Call {
  /** Null where the provider gives none. */
  readonly id: string | null
  readonly name: string
  readonly arguments: string
}

/** A provider's count in classes that do not overlap; `completion` has the reasoning that some count beside it. */
export interface Count {
  readonly prompt: number
  readonly cached: number
  readonly written: number
  readonly completion: number
  readonly imageTokens: number
  readonly reasoning: number
}

export interface Heard {
  readonly said: Said
  /** Why it ended, in the contract's words; null where that was not said. */
  readonly finish: string | null
  /** Whether all of it has come. */
  readonly hasEnded: boolean
  readonly count: Count | null
  /** An error inside a 200. */
  readonly error: { readonly status: number; readonly text: string } | null
}

/** The events of a stream, or the one body, each parsed; whether a word came that ends every stream. */
export interface Heardable {
  readonly wire: readonly Wire[]
  readonly isDone: boolean
}

export const NOTHING: Said = { text: '', reasoning: '', refusal: '', calls: [], images: [] }

/** Everything said, in one piece. */
export const wordsOf = ({ text, reasoning, refusal, calls }: Said): string =>
  text + reasoning + refusal + calls.map((call) => call.name + call.arguments).join('')

/** Whether anything of it is content that somebody pays for. */
export const saysAnything = (said: Said): boolean =>
  wordsOf(said) !== '' || said.calls.length > 0 || said.images.length > 0
