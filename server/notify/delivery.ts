/** The delivery of a notice: its current destination and channel. */
import type { Clock } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { Store } from '#domain/store.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import type { Mail } from './mail.ts'
import { type Outcome, unanswered } from './outcome.ts'
import { readSecret } from './signature.ts'
import type { SmtpServer } from './smtp-server.ts'
import { postWebhook } from './webhook.ts'

export interface DeliveryDeps {
  readonly store: Pick<Store, 'accounts' | 'notices' | 'thresholds' | 'noticeSettings'>
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
  const { webhookUrl: url } = await addressesOf(deps, notice)
  if (url === null) return undeliverable(notice)
  return {
    destination: URL.parse(url)?.host ?? url,
    async deliver(signal) {
      const secret = await secretOf(store, notice).catch(() => null)
      const key = readSecret(secret ?? '')
      if (key === null) return unanswered('no_secret')
      return await postWebhook({ ...notice, url, key }, webhooks, clock.now(), signal)
    },
  }
}

async function toEmail(deps: DeliveryDeps, notice: Notice): Promise<Delivery> {
  const { smtp } = deps
  const { email } = await addressesOf(deps, notice)
  if (email === null) return undeliverable(notice)
  return {
    // All mail goes through one server.
    destination: 'smtp',
    async deliver(signal) {
      if (smtp === null) return unanswered('no_smtp')
      // Loaded when the first mail is due: most gateways send a few in a year.
      const { sendMail } = await import('./mail.ts')
      return await sendMail(smtp, email, notice.eventId, await writeMail(deps, notice), signal)
    },
  }
}

/** Those of its account, or of the gateway's operator. */
const addressesOf = ({ store }: DeliveryDeps, { accountId }: Notice) =>
  accountId === null ? store.noticeSettings.find() : store.thresholds.find(accountId)

const secretOf = (store: DeliveryDeps['store'], { accountId }: Notice): Promise<string | null> =>
  accountId === null
    ? store.noticeSettings.webhookSecret()
    : store.thresholds.webhookSecret(accountId)

async function writeMail({ store }: DeliveryDeps, { accountId, body }: Notice): Promise<Mail> {
  if (accountId === null) return (await import('./event-mail.ts')).writeEvent(body)
  const account = await store.accounts.find(accountId)
  const { writeLowBalance } = await import('./low-balance-mail.ts')
  return writeLowBalance(body, account?.name ?? accountId)
}
