/** A notice to an account's owner, kept in the outbox until it has arrived or was given up (contract §9). */
import { DAY_MS, type Instant, renderInstant } from './clock.ts'
import type { AccountId, EventId } from './id.ts'
import { type RubPerUsd, renderRub, renderUsd, toRub, type UsdNanos } from './money.ts'

export type Channel = 'email' | 'webhook'

export type NoticeType = 'gateway.low_balance'

export type NoticeState = 'pending' | 'delivered' | 'dead'

/** One event on its way over one channel; its e-mail and its webhook travel, fail and are retried apart. */
export interface Notice {
  readonly eventId: EventId
  readonly channel: Channel
  readonly accountId: AccountId
  readonly type: NoticeType
  /** The JSON text that is sent and signed: the same bytes at every try. */
  readonly body: string
  readonly createdAt: Instant
  readonly state: NoticeState
  readonly tries: number
  /** Null once nothing more will be tried. */
  readonly nextTryAt: Instant | null
}

/** One try at delivering, as the delivery log keeps it: never what the other side answered. */
export interface DeliveryTry {
  readonly at: Instant
  /** The HTTP status or the SMTP reply code, where one came. */
  readonly status: number | null
  /** A class of failure, null on success: `timeout`, `refused`, `tls`, `status`, `redirect`, `forbidden_address` … */
  readonly failure: string | null
  readonly ms: number
}

export interface NoticeQuery {
  readonly accountId?: AccountId
  readonly state?: NoticeState
  readonly limit: number
}

/** A notice that has arrived or was given up is kept so long after its last try, for whoever asks what was sent. */
export const NOTICE_KEPT_MS = 90 * DAY_MS

/** Port: the outbox. Notices of money come in through the transaction that moves it; tries are noted here. */
export interface Notices {
  /**
   * Writes notices that no movement of money caused: a test, or one to be sent again, which keeps its body and the log of
   * its tries and takes the rest from here. Durable before it resolves.
   */
  post(notices: readonly Notice[]): Promise<void>
  /** Takes what is due, at most `limit`, and keeps it from others until `leaseUntil`: a courier that dies loses nothing. */
  claim(at: Instant, leaseUntil: Instant, limit: number): Promise<readonly Notice[]>
  /**
   * Notes a try and what follows from it, durable before it resolves; the lease ends. What has arrived stays delivered,
   * whatever a slower try says later.
   * @throws notice_not_found
   */
  tried(
    eventId: EventId,
    channel: Channel,
    attempt: DeliveryTry,
    then: { readonly state: NoticeState; readonly nextTryAt: Instant | null },
  ): Promise<void>
  /** Newest first. */
  list(query: NoticeQuery): Promise<readonly Notice[]>
  /** Every channel of one event, with its tries, oldest first; none where there is no such event. */
  find(eventId: EventId): Promise<readonly (Notice & { readonly log: readonly DeliveryTry[] })[]>
  /**
   * Removes notices that have ended, with their tries, where they were made and last tried before `before`; at most `limit`,
   * and answers how many: fewer only when none is left, or while the disk takes no writes.
   */
  trim(before: Instant, limit: number): Promise<number>
}

export interface LowBalanceFacts {
  readonly eventId: EventId
  readonly accountId: AccountId
  readonly at: Instant
  readonly balance: UsdNanos
  readonly below: UsdNanos
  readonly rubPerUsd: RubPerUsd
  /** A test is marked as one. */
  readonly isTest?: boolean
}

/** The body of `gateway.low_balance` (contract §9). */
export const renderLowBalance = (facts: LowBalanceFacts): string =>
  JSON.stringify({
    type: 'gateway.low_balance',
    id: facts.eventId,
    timestamp: renderInstant(facts.at),
    data: {
      account_id: facts.accountId,
      balance_usd: renderUsd(facts.balance),
      balance_rub: renderRub(toRub(facts.balance, facts.rubPerUsd)),
      threshold_usd: renderUsd(facts.below),
    },
    ...(facts.isTest && { test: true }),
  })

/** One event for each channel, its body frozen here, due at once. */
export function draftNotices(
  facts: LowBalanceFacts,
  channels: readonly Channel[],
): readonly Notice[] {
  const { eventId, accountId, at } = facts
  const body = renderLowBalance(facts)
  return channels.map((channel) => ({
    eventId,
    channel,
    accountId,
    type: 'gateway.low_balance',
    body,
    createdAt: at,
    state: 'pending',
    tries: 0,
    nextTryAt: at,
  }))
}
