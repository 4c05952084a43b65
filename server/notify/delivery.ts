/** The delivery of a notice: its current destination and channel. */
import type { Clock } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { Store } from '#domain/store.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import { type Outcome, unanswered } from './outcome.ts'
import { readSecret } from './signature.ts'
import type { SmtpServer } from './smtp-server.ts'
import { postWebhook } from './webhook.ts'

export interface DeliveryDeps {
  readonly store: Pick<Store, 'accounts' | 'notices' | 'thresholds'>
  readonly clock: Clock
  /** Null where no mail can be sent. */
  readonly smtp: SmtpServer | null
  readonly webhooks: DestinationPolicy
}

export interface Delivery {
  /** Deliveries to the same destination run one at a time. */
  readonly destination: string
  /** Never throws for a failure of the recipient. */
  deliver(signal: AbortSignal): Promise<Outcome>
}

/** Reads the current settings, so that a changed address or secret applies from the next attempt. */
export const prepareDelivery = (deps: DeliveryDeps, notice: Notice): Promise<Delivery> =>
  notice.channel === 'email' ? toEmail(deps, notice) : toWebhook(deps, notice)

const undeliverable = ({ eventId }: Notice): Delivery => ({
  destination: eventId,
  deliver: async () => ({ ...unanswered('no_address'), isFinal: true }),
})

async function toWebhook(deps: DeliveryDeps, notice: Notice): Promise<Delivery> {
  const { store, clock, webhooks } = deps
  const { webhookUrl: url } = await store.thresholds.find(notice.accountId)
  if (url === null) return undeliverable(notice)
  return {
    destination: URL.parse(url)?.host ?? url,
    async deliver(signal) {
      const secret = await store.thresholds.webhookSecret(notice.accountId).catch(() => null)
      const key = readSecret(secret ?? '')
      if (key === null) return unanswered('no_secret')
      return await postWebhook({ ...notice, url, key }, webhooks, clock.now(), signal)
    },
  }
}

async function toEmail({ store, smtp }: DeliveryDeps, notice: Notice): Promise<Delivery> {
  const { email } = await store.thresholds.find(notice.accountId)
  if (email === null) return undeliverable(notice)
  return {
    // All mail goes through one server.
    destination: 'smtp',
    async deliver(signal) {
      if (smtp === null) return unanswered('no_smtp')
      const account = await store.accounts.find(notice.accountId)
      // Loaded when the first mail is due: most gateways send a few in a year.
      const { sendMail } = await import('./mail.ts')
      const { writeLowBalance } = await import('./low-balance-mail.ts')
      const mail = writeLowBalance(notice.body, account?.name ?? notice.accountId)
      return await sendMail(smtp, email, notice.eventId, mail, signal)
    },
  }
}
