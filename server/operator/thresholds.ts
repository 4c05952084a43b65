/** Verbs for low-balance thresholds: show, set, send a test notice. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEventId } from '#domain/id.ts'
import { channelsOf, type Threshold } from '#domain/low-balance.ts'
import { NO_MONEY, renderUsd } from '#domain/money.ts'
import { CHANNELS, type Channel, draftNotices, type LowBalanceFacts } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import { definedIn } from '#domain/stated.ts'
import { newWebhookSecret } from '#domain/webhook-secret.ts'
import { accountField, orNull, usdField } from '#forms/fields.ts'
import type { DeliveryConfig, OperatorDeps } from './deps.ts'
import { findAccount, findOpenAccount } from './find-account.ts'
import { inTurn } from './in-turn.ts'
import { requireNoticesLeft } from './notice-rate.ts'
import { emailField, readWebhookUrl } from './threshold-fields.ts'
import { renderThreshold, type ThresholdRecord } from './threshold-record.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface AccountThresholdRecord extends ThresholdRecord {
  readonly account: string
  readonly balance_usd: string
}

export interface SetThresholdRecord extends AccountThresholdRecord {
  readonly previous: ThresholdRecord
  /** A new secret, shown only once; null when none was created. */
  readonly webhook_secret: string | null
  readonly warnings: readonly string[]
}

export interface TestRecord {
  readonly event_id: string
  readonly channels: readonly Channel[]
  /** Whether a gateway runs that will send it. */
  readonly running: boolean
}

async function report({ store }: OperatorDeps, { id }: Account): Promise<AccountThresholdRecord> {
  const threshold = await store.thresholds.find(id)
  // Read after the threshold: setting one may wait for the disk, while the balance changes.
  const account = await store.accounts.find(id)
  return {
    account: account?.name ?? id,
    balance_usd: renderUsd(account?.balance ?? NO_MONEY),
    ...renderThreshold(threshold),
  }
}

/** @throws account_not_found */
export const showThreshold = verb(z.strictObject({ account: accountField }), async (deps, input) =>
  report(deps, await findAccount(deps, input.account)),
)

/**
 * Absent fields stay unchanged; the balance is checked at once. The webhook secret is created with the first URL, kept when the
 * URL changes, and removed with it. @throws account_not_found, account_closed, invalid_request, rate_limit_exceeded
 */
export const setThreshold = mutation(
  'thresholds.set',
  z.strictObject({
    account: accountField,
    threshold_usd: z.nullish(usdField),
    email: z.nullish(emailField),
    webhook_url: z.nullish(z.string()),
    rotate_secret: z._default(z.boolean(), false),
  }),
  async (deps, input, act): Promise<SetThresholdRecord> => {
    const { store, delivery } = deps
    const account = await findOpenAccount(deps, input.account)
    const found = await store.thresholds.find(account.id)
    const { threshold_usd: below, email, webhook_url, rotate_secret: rotatesSecret } = input
    const webhookUrl =
      typeof webhook_url === 'string'
        ? readWebhookUrl(webhook_url, delivery.loopbackWebhooks)
        : webhook_url
    if (rotatesSecret && (webhookUrl === undefined ? found.webhookUrl : webhookUrl) === null) {
      throw invalidInput('rotate_secret', 'there is no webhook whose secret could be changed')
    }
    const secret = newWebhookSecret()
    const change = { accountId: account.id, ...definedIn({ below, email, webhookUrl }) }
    const offer = { secret, rotates: rotatesSecret }
    const { after, hasNewSecret } = await inTurn(deps, async () => {
      const { below: standing } = await store.thresholds.find(account.id)
      if (below !== undefined && below !== standing) {
        await requireNoticesLeft(deps, account, 'thresholds.set')
      }
      return await store.thresholds.set(change, offer, act(account.name))
    })
    return {
      ...(await report(deps, account)),
      previous: renderThreshold(found),
      webhook_secret: hasNewSecret ? secret : null,
      warnings: warningsFor(after, delivery),
    }
  },
)

function warningsFor({ below, email, webhookUrl }: Threshold, { smtp }: DeliveryConfig): string[] {
  const hasNoChannel = email === null && webhookUrl === null
  return [
    ...(below !== null && hasNoChannel
      ? ['nobody will be notified: neither an e-mail nor a webhook is set']
      : []),
    ...(below === null && !hasNoChannel ? ['no threshold is set, so no notice will be sent'] : []),
    ...(email !== null && !smtp ? ['no mail server is known (GATEWAY_SMTP_URL)'] : []),
  ]
}

/** Queues a notice marked as a test. @throws account_not_found, account_closed, invalid_request, rate_limit_exceeded */
export const testThreshold = mutation(
  'thresholds.test',
  z.strictObject({
    account: accountField,
    channel: orNull(z.enum(CHANNELS)),
  }),
  async (deps, input, act): Promise<TestRecord> => {
    const account = await findOpenAccount(deps, input.account)
    const threshold = await deps.store.thresholds.find(account.id)
    const set = channelsOf(threshold)
    const channels = input.channel === null ? set : set.filter((one) => one === input.channel)
    if (channels.length === 0) throw noChannel(account, input.channel)
    const facts = await draftTest(deps, account, threshold)
    const tested = act(account.name, { event_id: facts.eventId, channels })
    await inTurn(deps, async () => {
      await requireNoticesLeft(deps, account, 'thresholds.test')
      await deps.store.notices.post(draftNotices(facts, channels), tested)
    })
    return { event_id: facts.eventId, channels, running: deps.live !== null }
  },
)

async function draftTest(
  { store, clock }: OperatorDeps,
  { id: accountId, balance }: Account,
  { below }: Threshold,
): Promise<LowBalanceFacts> {
  const at = clock.now()
  const { rubPerUsd } = rateAt(store.catalogue.current(), at)
  const facts = { eventId: newEventId(at), accountId, at, balance, rubPerUsd }
  return { ...facts, below: below ?? NO_MONEY, isTest: true }
}

function noChannel({ name }: Account, channel: Channel | null): GatewayError {
  const wanted = { email: 'no e-mail is', webhook: 'no webhook is' }
  const what = channel === null ? 'neither an e-mail nor a webhook is' : wanted[channel]
  const flag = channel === 'email' ? '--email ops@example.org' : '--webhook https://ops.example.org'
  return new GatewayError('invalid_request', `${what} set for account ${name}`, {
    param: 'channel',
    hint: `gatewayctl thresholds set ${flag}`,
  })
}
