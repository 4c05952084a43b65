/** Server-sent events out of bytes, however the network cut them (HTML Standard, §9.2). */
import { createParser, type ParseError } from 'eventsource-parser'
import { UpstreamFailure } from '#domain/upstream.ts'

export interface SseEvent {
  /** Undefined where the provider did not name it. */
  readonly event?: string | undefined
  readonly data: string
}

export interface SseReader {
  /** The events that these bytes complete. @throws UpstreamFailure when one of them grows beyond 16 Mi characters */
  feed(bytes: Uint8Array): readonly SseEvent[]
  /** What the end of the stream leaves: an event without its blank line counts when it is whole. */
  end(): readonly SseEvent[]
}

/** A picture of several megabytes travels in one line. */
const LONGEST_EVENT_CHARS = 16 * 1_048_576
const STREAMING = { stream: true } as const

/** Starts at the first byte of a stream. */
export function createSseReader(): SseReader {
  const decoder = new TextDecoder()
  let events: SseEvent[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT_CHARS,
    onEvent: (event) => events.push(event),
    onError: (error: ParseError) => {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
    },
  })
  const take = (text: string): readonly SseEvent[] => {
    events = []
    parser.feed(text)
    if (overflow) throw new UpstreamFailure('failed', 'one event of its stream is too large')
    return events
  }
  return {
    feed: (bytes) => take(decoder.decode(bytes, STREAMING)),
    end: () => take(`${decoder.decode()}\n\n`).filter(({ data }) => isWhole(data)),
  }
}

function isWhole(data: string): boolean {
  if (data.trim() === '[DONE]') return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}
