/** Claude on Amazon Bedrock: InvokeModel with the body of the Messages API, answered as its stream in AWS's framing. */
import type { UpstreamCall } from '#domain/upstream.ts'
import { BEDROCK_BETAS, knownBetas } from '../anthropic/betas.ts'
import type { AskedHeaders, MessagesServer } from '../anthropic/server.ts'
import { toHeaders } from '../call.ts'
import { keepPosts } from '../posts.ts'
import type { Scrub } from '../scrub.ts'
import { readErrorText } from '../whole-answer.ts'
import { createEventStreamReader } from './event-stream.ts'
import { fromErrorAnswer } from './from-error.ts'
import type { BedrockReach } from './reach.ts'

/**
 * The model and whether it streams are in the address. The others are of Anthropic's own API, refused here, and answers are right
 * without them.
 */
const CUT: readonly string[] = [
  'model',
  'stream',
  'cache_control',
  'context_management',
  'diagnostics',
  'inference_geo',
  'service_tier',
  'speed',
]

export const toAddress = (base: string, model: string, operation: string): string =>
  `${base}/model/${encodeURIComponent(model)}/${operation}`

export function claudeServer(reach: BedrockReach, scrub: Scrub): MessagesServer {
  const { base, auth } = reach
  const posts = keepPosts(reach)
  const { whole } = toHeaders(auth)
  const headers = { whole, stream: { ...whole, accept: EVENT_STREAM } }
  return {
    scrub,
    postFor: ({ request, hop }) =>
      posts(
        toAddress(
          base,
          hop.card.upstreamName,
          request.stream ? 'invoke-with-response-stream' : 'invoke',
        ),
      ),
    headersWith: () => headers,
    membersOf: toMembers,
    cut: CUT,
    async toFailure(answer) {
      const { status, headers: of } = answer.reply
      return fromErrorAnswer(status, await readErrorText(answer), of, scrub)
    },
    openReader: (contentType) =>
      contentType.startsWith(EVENT_STREAM) ? createEventStreamReader() : null,
  }
}

const EVENT_STREAM = 'application/vnd.amazon.eventstream'

/** The version of the API, and betas, which Anthropic's own has in headers. */
function toMembers(_: UpstreamCall, asked: AskedHeaders | undefined) {
  const betas = knownBetas(asked, BEDROCK_BETAS)
  return {
    anthropic_version: 'bedrock-2023-05-31',
    ...(betas.length > 0 && { anthropic_beta: betas }),
  }
}
