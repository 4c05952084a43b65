/** Reads a whole event stream as a client would. */

export interface SseReading {
  /** The parsed `data` of every event but `[DONE]`. */
  readonly chunks: readonly Chunk[]
  readonly comments: readonly string[]
  readonly done: boolean
  readonly text: string
}

export interface Chunk {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly object: string
  readonly provider?: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: Record<string, unknown>
    readonly finish_reason: string | null
    readonly native_finish_reason?: string | null
  }[]
  readonly usage?: Record<string, unknown>
  readonly error?: { readonly code: string; readonly message: string }
  readonly [name: string]: unknown
}

/** @throws when an event is neither data nor a comment, or follows `[DONE]` */
export function readSse(body: string): SseReading {
  const events = body.split('\n\n').filter((event) => event !== '')
  const data = events.filter((event) => event.startsWith('data: ')).map((event) => event.slice(6))
  const comments = events.filter((event) => event.startsWith(':'))
  if (data.length + comments.length !== events.length) throw new Error(`odd event in ${body}`)
  const done = data.at(-1) === '[DONE]'
  const chunks = (done ? data.slice(0, -1) : data).map((text) => JSON.parse(text) as Chunk)
  const text = chunks.map(({ choices }) => choices[0]?.delta['content'] ?? '').join('')
  return { chunks, comments, done, text }
}
