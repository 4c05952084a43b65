/** Chooses how the events of an answer are read, by its type and not by the request: a proxy may collect a stream into one body. */
import type { Scrub } from '../scrub.ts'
import type { Translation } from '../stream.ts'
import type { MessagesServer } from './server.ts'

/** Null where the answer is one body. */
export function readAs(
  { scrub, openReader }: MessagesServer,
  contentType: string,
  start: (scrub: Scrub) => Translation,
): Translation | null {
  if (EVENT_STREAM.test(contentType)) return start(scrub)
  const reader = openReader?.(contentType) ?? null
  return reader && { ...start(scrub), reader }
}

const EVENT_STREAM = /event-stream/i
