/** A provider of our own that needs no recordings: each of its base URLs answers, breaks off or refuses as the test wrote down. */
import { fileURLToPath } from 'node:url'
import { startListening } from './listening-child.ts'

/** What one base URL does with every request for a completion; a list of models is always empty. */
export type SyntheticAnswer =
  | SyntheticChat
  | {
      readonly kind: 'plain'
      readonly status: number
      readonly body: string
      /** Another base URL of this provider, for the `Location`. */
      readonly redirectTo?: string
    }
  /** The connection is reset, or stays and nothing is said. */
  | { readonly kind: 'reset' | 'silence' }

/** A chat completion as OpenAI words it, whole or streamed as it is asked for. */
export interface SyntheticChat {
  readonly kind: 'chat'
  readonly promptTokens: number
  readonly completionTokens: number
  /** Its words; streamed, each in an event of its own. */
  readonly chunks: readonly string[]
  /** Between two events. */
  readonly gapMs?: number
  /** Before the first byte. */
  readonly delayMs?: number
  /** Every event of a stream carries the count so far, as some providers do. */
  readonly countsAlong?: boolean
  /** A stream goes no further than into the middle of the event behind this many chunks: it is cut there, or falls silent. */
  readonly breaksOff?: { readonly afterChunks: number; readonly ending: 'close' | 'silence' }
}

/** A request as the provider saw it. */
export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed where it is JSON. */
  readonly body: unknown
  /** The connection was gone before the answer was whole. */
  readonly aborted: boolean
  readonly finished: boolean
}

/** A running one. */
export interface SyntheticUpstream<Name extends string> {
  readonly url: string
  readonly baseUrls: Readonly<Record<Name, string>>
  /** Every request since it was started, in order. */
  requests(): Promise<readonly UpstreamRequest[]>
  stop(): Promise<void>
}

/** The word that a synthetic answer is made of, so many times. */
export const oks = (count: number): readonly string[] => Array<string>(count).fill('ok ')

/** Starts it as a child. */
export async function startSyntheticUpstream<Name extends string>(
  answers: Readonly<Record<Name, SyntheticAnswer>>,
): Promise<SyntheticUpstream<Name>> {
  const file = fileURLToPath(new URL('children/synthetic-upstream.ts', import.meta.url))
  const { url, stop } = await startListening([process.execPath, file, JSON.stringify(answers)])
  return {
    url,
    baseUrls: Object.fromEntries(
      Object.keys(answers).map((name) => [name, `${url}/${name}`]),
    ) as Record<Name, string>,
    requests: async () => (await (await fetch(url)).json()) as readonly UpstreamRequest[],
    stop,
  }
}
