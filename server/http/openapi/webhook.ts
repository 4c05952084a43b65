/** The event that the gateway sends of its own accord: who gets it, how it is signed, what an answer means (contract §9). */
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
        'Signed by Standard Webhooks 1.0 with the secret `whsec_…` of the account. Sent again for three days until it arrives; ' +
        'redirects are not followed.',
      security: [],
      parameters: [
        header('webhook-id', 'The id of the event, the same at every try'),
        header('webhook-timestamp', 'When this try was made, in seconds since the Unix epoch'),
        header('webhook-signature', '`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64'),
      ],
      requestBody: {
        required: true,
        content: json(refTo('LowBalance')),
      },
      responses: {
        '2XX': { description: 'The notice has arrived.' },
        '410': { description: 'The notice is given up.' },
        default: {
          description:
            'The notice is sent again; `Retry-After` with 429, 502, 503 and 504 is obeyed.',
        },
      },
    },
  },
})
