/** What an answer with a bad status means, once its body has been read. */
import type { UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { readErrorText } from '../body.ts'
import type { Answer } from '../call.ts'
import type { Scrub } from '../scrub.ts'
import { fromErrorAnswer } from './from-error.ts'

/** Reads the error and lets the connection go. */
export async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), readRetryAfter(headers), scrub)
}
