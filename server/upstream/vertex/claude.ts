/** Claude on Vertex AI: rawPredict and streamRawPredict, whose bodies and answers are those of the Messages API. */

import { isObject } from '#domain/json.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { BETA_HEADER, knownBetas, VERTEX_BETAS } from '../anthropic/betas.ts'
import { fromErrorAnswer as fromAnthropicError } from '../anthropic/from-error.ts'
import type { MessagesServer } from '../anthropic/server.ts'
import { toHeaders } from '../call.ts'
import { fromErrorAnswer as fromGoogleError } from '../gemini/from-error.ts'
import { keepPosts } from '../posts.ts'
import type { Reach } from '../reach.ts'
import { parseText } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'

/** Of the body, where Anthropic's own API has a header. */
const VERSION = { anthropic_version: 'vertex-2023-10-16' }

/** `base` ends in project and location. */
export function claudeServer(base: string, reach: Reach, scrub: Scrub): MessagesServer {
  const posts = keepPosts(reach)
  const own = toHeaders(reach.auth)
  const postTo = (model: string, method: string) =>
    posts(`${base}/publishers/anthropic/models/${encodeURIComponent(model)}:${method}`)
  const server: MessagesServer = {
    scrub,
    postFor: ({ request, hop }) =>
      postTo(hop.card.upstreamName, request.stream ? 'streamRawPredict' : 'rawPredict'),
    headersWith(asked) {
      const betas = knownBetas(asked, VERTEX_BETAS)
      if (betas.length === 0) return own
      const added = { [BETA_HEADER]: betas.join(',') }
      return { whole: { ...own.whole, ...added }, stream: { ...own.stream, ...added } }
    },
    membersOf: () => VERSION,
    cut: ['model'],
    toFailure: (answer) => toFailure(answer, scrub),
  }
  return {
    ...server,
    // The one method whose model is in the body.
    counting: {
      ...server,
      postFor: () => postTo('count-tokens', 'rawPredict'),
      membersOf: ({ hop }) => ({ ...VERSION, model: hop.card.upstreamName }),
      cut: [],
    },
  }
}

/** Anthropic's errors of the model, Google's of everything before it. */
async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  const text = await readErrorText(answer)
  const body = parseText(text)
  return isObject(body) && body['type'] === 'error'
    ? fromAnthropicError(status, text, headers, scrub)
    : fromGoogleError(status, text, readRetryAfter(headers), scrub)
}
