/** The error of an unknown path: what is served, and what is to be used instead of an operation that is not. */
import { GatewayError } from '#domain/errors.ts'
import { nearest } from '#forms/nearest.ts'

/** Other operations of the APIs that clients are written for, by the end of their paths. */
const ELSEWHERE: readonly (readonly [ending: RegExp, advice: string])[] = [
  [
    /\/messages\/batches(?:\/|$)/,
    'there are no batches: send each request by itself to POST /v1/messages',
  ],
  [
    /\/batches(?:\/|$)/,
    'there are no batches: send each request by itself, such as to POST /v1/chat/completions',
  ],
  [
    /\/files(?:\/|$)/,
    'no files are kept: send their content in the request, such as to POST /v1/messages or POST /v1/responses',
  ],
  [/\/responses\/input_tokens$/, 'tokens are counted by POST /v1/messages/count_tokens'],
  [
    /\/responses\/compact$/,
    'nothing is compacted: send what is to be kept of the conversation to POST /v1/responses',
  ],
  [
    /\/(?:responses|conversations)(?:\/|$)/,
    'no answer and no conversation is kept: send the whole of it to POST /v1/responses',
  ],
  [
    /\/images\/(?:generations|edits|variations)$/,
    'images are made by POST /v1/chat/completions with "modalities" containing "image"',
  ],
  [
    /\/audio(?:\/|$)/,
    'sound is not served: POST /v1/chat/completions takes it as a part of a message',
  ],
  [/\/moderations$/, 'moderation is not served: ask a model by POST /v1/chat/completions'],
  [/\/realtime(?:\/|$)/, 'there is no realtime API: POST /v1/chat/completions streams'],
  [
    /(?<!\/chat)\/completions$/,
    'completions of a prompt are not served: send it as a message to POST /v1/chat/completions',
  ],
  [/^\/(?:api\/)?v2\/rerank$/, 'only version 1 is served: documents are ranked by POST /v1/rerank'],
  [/^\/(?:api\/)?v2\/embed$/, 'only version 1 is served: vectors are made by POST /v1/embeddings'],
  [/^\/(?:api\/)?v2\//, 'only version 1 is served: chat is POST /v1/chat/completions'],
]

/** For a longer path no suggestion is looked for. */
const MAX_CHARS = 128

/** `served`: method and path of each operation. */
export function routeNotFound(path: string, served: readonly string[]): GatewayError {
  const advice = ELSEWHERE.find(([ending]) => ending.test(path))?.[1]
  const meant = advice === undefined ? findNearest(path, served) : undefined
  return new GatewayError(
    'route_not_found',
    [
      'there is nothing at this address',
      ...(advice === undefined ? [] : [advice]),
      `served are ${served.join(', ')}`,
      'GET /openapi.json describes them',
      ...(meant === undefined ? [] : [`did you mean ${meant}?`]),
    ].join('; '),
  )
}

function findNearest(path: string, served: readonly string[]): string | undefined {
  if (path.length > MAX_CHARS) return undefined
  const paths = new Set(served.map((line) => line.slice(line.indexOf('/'))))
  return nearest(path, [...paths])
}
