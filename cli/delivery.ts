/** What notices can leave by, as the environment says. */
import type { Delivery } from '#operator/office.ts'
import type { Environment } from './context.ts'

export const readDelivery = (env: Environment): Delivery => ({
  smtp: Boolean(env['GATEWAY_SMTP_URL'] || env['GATEWAY_SMTP_URL_FILE']),
  loopbackWebhooks: env['GATEWAY_ALLOW_LOOPBACK_WEBHOOKS'] === '1',
})
