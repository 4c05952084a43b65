/** The webhooks that the gateway sends: their signature, their bodies, and the meaning of a response (contract §9). */
import { CAUSE_NAMES, CAUSES, type CauseName } from '#domain/cause.ts'
import { DIGEST } from '#domain/event.ts'
import type { JsonSchema } from './notes.ts'
import { json } from './operation.ts'
import { refTo } from './schemas.ts'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

interface Sent {
  readonly operationId: string
  readonly summary: string
  /** Whose secret signs it. */
  readonly signer: string
  readonly schema: JsonSchema
}

const webhook = ({ operationId, summary, signer, schema }: Sent) => ({
  post: {
    operationId,
    tags: ['Events'],
    summary,
    description:
      `Signed by Standard Webhooks 1.0 with the secret \`whsec_…\` of ${signer}. Retried for three days until it is delivered; ` +
      'redirects are not followed.',
    security: [],
    parameters: [
      header('webhook-id', 'The id of the event, the same at every attempt'),
      header('webhook-timestamp', 'The time of this attempt, in seconds since the Unix epoch'),
      header('webhook-signature', '`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64'),
    ],
    requestBody: { required: true, content: json(schema) },
    responses: {
      '2XX': { description: 'Delivered.' },
      '410': { description: 'Not retried.' },
      default: {
        description: 'Retried later; `Retry-After` is honoured with 429, 502, 503 and 504.',
      },
    },
  },
})

/** `webhooks`. */
export const renderWebhooks = () => ({
  'gateway.low_balance': webhook({
    operationId: 'lowBalance',
    summary: "An account's balance fell below its threshold",
    signer: 'the account',
    schema: refTo('LowBalance'),
  }),
  ...Object.fromEntries(
    CAUSE_NAMES.map((name) => [
      name,
      webhook({
        operationId: toOperationId(name),
        summary: CAUSES[name].title,
        signer: 'notices',
        schema: { allOf: [refTo('Notice'), propertiesOf(name)] },
      }),
    ]),
  ),
  [DIGEST]: webhook({
    operationId: 'digest',
    summary: 'Several notices that were held back',
    signer: 'notices',
    schema: refTo('Digest'),
  }),
})

/** "gateway.key_ceiling" is "keyCeiling". */
const toOperationId = (name: CauseName): string =>
  name.replace(/^gateway\./, '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const KINDS = {
  text: { type: 'string' },
  count: { type: 'integer' },
  usd: { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' },
  time: { type: 'string', format: 'date-time' },
  list: { type: 'array', items: { type: 'string' } },
  'text or null': { type: ['string', 'null'] },
  'count or null': { type: ['integer', 'null'] },
} as const

function propertiesOf(name: CauseName): JsonSchema {
  const facts = Object.entries(CAUSES[name].facts)
  const properties = {
    type: { const: name },
    data: {
      type: 'object',
      required: facts.map(([fact]) => fact),
      properties: Object.fromEntries(
        facts.map(([fact, [kind, description]]) => [fact, { ...KINDS[kind], description }]),
      ),
    },
  }
  return { type: 'object', properties } as JsonSchema
}
