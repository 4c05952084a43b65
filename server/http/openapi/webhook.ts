/** The webhook that the gateway sends: its signature, its body, and the meaning of a response (contract §9). */
import { json } from './operation.ts'
import { refTo } from './schemas.ts'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** `webhooks`. */
export const renderWebhooks = () => ({
  'gateway.low_balance': {
    post: {
      operationId: 'lowBalance',
      tags: ['Events'],
      summary: "An account's balance fell below its threshold",
      description:
        'Signed by Standard Webhooks 1.0 with the secret `whsec_…` of the account. Retried for three days until it is delivered; ' +
        'redirects are not followed.',
      security: [],
      parameters: [
        header('webhook-id', 'The id of the event, the same at every attempt'),
        header('webhook-timestamp', 'The time of this attempt, in seconds since the Unix epoch'),
        header('webhook-signature', '`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64'),
      ],
      requestBody: {
        required: true,
        content: json(refTo('LowBalance')),
      },
      responses: {
        '2XX': { description: 'Delivered.' },
        '410': { description: 'Not retried.' },
        default: {
          description: 'Retried later; `Retry-After` is honoured with 429, 502, 503 and 504.',
        },
      },
    },
  },
})
