/** Claude on Amazon Bedrock and on Vertex AI: Anthropic's wire, behind stand-ins that check signatures and tokens. */
import { startBedrock } from '../../clouds/bedrock.ts'
import type { AskVendor } from '../../clouds/front.ts'
import { startVertex } from '../../clouds/vertex.ts'
import type { Json } from '../turn.ts'
import { ANTHROPIC } from './anthropic.ts'
import type { Wire } from './wire.ts'

const KEY = { AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: 'of-the-stand-in', Region: 'us-east-1' }

/** What the cloud was asked is asked of the wire behind it. */
const askAt =
  (url: string): AskVendor =>
  async ({ url: { pathname }, text }) => {
    const answer = await fetch(url + pathname, { method: 'POST', body: text })
    return new Response(answer.body, {
      status: answer.status,
      headers: { 'content-type': answer.headers.get('content-type') ?? '' },
    })
  }

export const BEDROCK: Wire = {
  ...ANTHROPIC,
  type: 'bedrock',
  model: 'bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  alias: 'claude-opus-4-6',
  base: '',
  hear: (body, path) => ({
    ...ANTHROPIC.hear(body, path),
    stream: path.endsWith('/invoke-with-response-stream'),
    faults: [...ANTHROPIC.hear(body, path).faults, ...faultsOf(body, REFUSED_BY_BEDROCK)],
  }),
  front(url) {
    const keys = { [KEY.AccessKeyId]: { secret: KEY.SecretAccessKey } }
    const front = startBedrock({ ask: askAt(url), keys })
    return { ...front, credential: JSON.stringify(KEY) }
  },
}

export const VERTEX: Wire = {
  ...ANTHROPIC,
  type: 'vertex',
  model: 'vertex/claude-sonnet-4-5@20250929',
  alias: 'claude-sonnet-4-6',
  base: '/v1',
  hear: (body, path) => ({
    ...ANTHROPIC.hear(body, path),
    stream: path.endsWith(':streamRawPredict'),
    faults: [...ANTHROPIC.hear(body, path).faults, ...faultsOf(body, ['model'])],
  }),
  front(url) {
    const front = startVertex({ ask: askAt(url) })
    return { ...front, credential: front.keyFile }
  },
}

const REFUSED_BY_BEDROCK = ['model', 'stream', 'context_management', 'diagnostics']

const faultsOf = (body: Json, refused: readonly string[]): readonly string[] => [
  ...refused
    .filter((name) => name in body)
    .map((name) => `${name}: extra inputs are not permitted`),
  ...(body['anthropic_version'] === undefined ? ['no anthropic_version'] : []),
]
