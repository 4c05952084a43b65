/** Chooses how the events of an answer are read, by its type and not by the request: a proxy may collect a stream into one body. */
import { isStream } from '../call.ts'
import type { Scrub } from '../scrub.ts'
import type { Translation } from '../stream.ts'
import type { MessagesServer } from './server.ts'

/** Null where the answer is one body. */
export function readAs(
  { scrub, openReader }: MessagesServer,
  contentType: string,
  asked: boolean,
  start: (scrub: Scrub) => Translation,
): Translation | null {
  const reader = openReader?.(contentType) ?? null
  if (reader !== null) return { ...start(scrub), reader }
  return isStream(contentType, asked) ? start(scrub) : null
}
