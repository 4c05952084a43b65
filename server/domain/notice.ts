/** A notice to an account's owner or to the gateway's operator, kept in the outbox until it is delivered or given up (contract §9). */
import type { Act } from './act.ts'
import type { CauseName } from './cause.ts'
import { DAY_MS, type Instant, renderInstant } from './clock.ts'
import type { AccountId, EventId } from './id.ts'
import { type RubPerUsd, renderRub, renderUsd, toRub, type UsdNanos } from './money.ts'

export const CHANNELS = ['email', 'webhook'] as const
export type Channel = (typeof CHANNELS)[number]

/** A cause; or several events that were held back, as one. */
export type NoticeType = 'gateway.low_balance' | 'gateway.digest' | CauseName

export const NOTICE_STATES = ['pending', 'delivered', 'dead'] as const
export type NoticeState = (typeof NOTICE_STATES)[number]

/** One event for one channel; e-mail and webhook are delivered and retried independently. */
export interface Notice {
  readonly eventId: EventId
  readonly channel: Channel
  /** Whose addresses it goes to; null for those of the gateway's operator. */
  readonly accountId: AccountId | null
  readonly type: NoticeType
  /** The JSON text that is sent and signed; every try sends the same bytes. */
  readonly body: string
  readonly createdAt: Instant
  readonly state: NoticeState
  readonly tries: number
  /** Null if there will be no further try. */
  readonly nextTryAt: Instant | null
}

/** One delivery attempt, as the delivery log keeps it; without the recipient's response body. */
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
  /** With an account: also those of the gateway's operator. */
  readonly withOperators?: boolean
  readonly state?: NoticeState
  /** Only those that come after this one in the list: the last of the page before. */
  readonly before?: Pick<Notice, 'eventId' | 'channel'>
  readonly limit: number
}

/** How long a delivered or dead notice is kept after its last try. */
export const NOTICE_KEPT_MS = 90 * DAY_MS

/** Port: the outbox. Low-balance notices are written by the transaction that changes the balance; tries are recorded here. */
export interface Notices {
  /**
   * Writes notices that no change of a balance caused: a test, or a redelivery, which keeps its body and delivery log and
   * takes the rest from here. Durable before it resolves.
   */
  post(notices: readonly Notice[], act: Act): Promise<void>
  /**
   * Leases notices that are due, at most `limit`, until `leaseUntil`; if the courier dies, they become due again. A notice that
   * was posted, tried or leased by a clock that has been set back since is due at once.
   */
  claim(at: Instant, leaseUntil: Instant, limit: number): Promise<readonly Notice[]>
  /**
   * Records a try and its outcome and ends the lease, durable before it resolves. A delivered notice stays delivered,
   * whatever a slower concurrent try reports.
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
   * Removes delivered and dead notices, with their tries, that were created and last tried before `before`; at most `limit`.
   * Returns how many; fewer only when none is left, or while the disk accepts no writes.
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

/** One notice per channel, with its final body, due at once. */
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
