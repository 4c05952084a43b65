/**
 * The Responses API as a `Wire`: for clients that speak it themselves, whose text passes as it is, and so does the answer's; and for
 * clients of other dialects.
 */
import type { Provider } from '#domain/provider.ts'
import type { Origin } from '#domain/thought.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'
import {
  countsOf,
  isStream,
  misframed,
  type ProviderHeaders,
  toHeaders,
  toOutgoing,
  type Wire,
} from '../../call.ts'
import type { Reach } from '../../reach.ts'
import type { Scrub } from '../../scrub.ts'
import { toEndpoint } from '../endpoint.ts'
import { toFailure } from '../to-failure.ts'
import type { Asked } from '../to-request.ts'
import { fromResponse } from './from-response.ts'
import { startNativeStream, startStream } from './from-stream.ts'
import {
  hasReasoning,
  hasSummary,
  needsEncrypted,
  type Omission,
  toResponsesRequest,
} from './to-request.ts'

/** By whether the client speaks the API itself. */
export interface ResponsesWires {
  readonly native: Wire
  readonly translated: Wire
}

/** Created once per provider. */
export function openResponsesWires(
  provider: Provider,
  credential: string | null,
  scrub: Scrub,
  reach: Reach,
): ResponsesWires {
  const { url, auth } = toEndpoint(provider, credential, '/responses')
  const post = reach.open(url)
  const own = toHeaders({ ...auth, ...reach.auth })
  const origin: Origin = { family: 'openai', provider: provider.name }
  const without = (omission: Omission | null, isNative: boolean): Wire => ({
    toOutgoing: (call) =>
      toOutgoing(
        call,
        post,
        withClients(own, call.request.headers),
        toResponsesRequest(call, omission),
      ),
    toFailure: (answer) => toFailure(answer, scrub),
    respell(failure, call) {
      const blamed = toOmission(failure, call, isNative)
      return blamed && { wire: without(blamed, isNative), accepted: () => undefined }
    },
    startStream(contentType, asked) {
      const streams = isStream(contentType, asked)
      if (streams && isNative && !asked) throw misframed(asked)
      if (!streams) return null
      return isNative ? startNativeStream(scrub) : startStream(scrub, origin)
    },
    ...(isNative && { keepsText: true }),
    fromBody(body, { request }, text) {
      const translated = fromResponse(body, text, scrub, isNative ? null : origin)
      const passes = !isNative || !request.stream || translated.failure !== null
      return passes ? translated : { events: countsOf(translated.events), failure: misframed(true) }
    },
  })
  return { native: without(null, true), translated: without(null, false) }
}

/** The headers of the client that this provider gets, beside the gateway's own. */
const withClients = (
  own: ProviderHeaders,
  headers: Asked['request']['headers'],
): ProviderHeaders =>
  headers === undefined
    ? own
    : { whole: { ...own.whole, ...headers }, stream: { ...own.stream, ...headers } }

/** Of encrypted reasoning of another account, or that is kept no more. */
const ABOUT_REASONING = /encrypted[_ ]content|item with id ['"]?rs_|items are not persisted/i
/** Only some accounts may see a summary. */
const ABOUT_SUMMARY = /reasoning[._ ]summar|summar.*(?:not supported|verified)|verified.*summar/i
const ABOUT_INCLUDE = /encrypted[_ ]content (?:is|are) not supported|\binclude\b/i

/** What a refusal blames that the gateway may leave out. */
function toOmission(
  { kind, message, details }: UpstreamFailure,
  asked: Asked,
  isNative: boolean,
): Omission | null {
  if (kind !== 'rejected') return null
  const { providerCode = '', param = '' } = details
  const { body } = asked.request
  if (
    !isNative &&
    hasSummary(body) &&
    (param === 'reasoning.summary' || ABOUT_SUMMARY.test(message))
  )
    return 'summary'
  if (needsEncrypted(asked) && (param === 'include' || ABOUT_INCLUDE.test(message)))
    return 'include'
  const isAboutReasoning =
    providerCode === 'invalid_encrypted_content' || ABOUT_REASONING.test(message)
  return isAboutReasoning && hasReasoning(body) ? 'reasoning' : null
}
