/** The failure for an answer with an error status. */
import type { UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import type { Scrub } from '../scrub.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { fromErrorAnswer } from './from-error.ts'

/** Reads the body and releases the connection. */
export async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), readRetryAfter(headers), scrub)
}
