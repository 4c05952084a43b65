/** Verbs for deliveries of notices: list, show every attempt, redeliver. */

import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { EventId } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import {
  CHANNELS,
  type Channel,
  type DeliveryTry,
  NOTICE_STATES,
  type Notice,
} from '#domain/notice.ts'
import { statedIn } from '#domain/stated.ts'
import { accountField, orNull, pageField, scopeField, textField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount, findScope } from './find-account.ts'
import { shownEndOf } from './shown-id.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface DeliveryRecord {
  readonly event_id: string
  /** The name of the account; null for a notice to the gateway's operator. */
  readonly account: string | null
  readonly channel: Channel
  readonly type: string
  readonly test: boolean
  readonly state: Notice['state']
  /** Attempts since it was last queued. */
  readonly tries: number
  readonly created_at: string
  /** Null when no further attempt is planned. */
  readonly next_try_at: string | null
}

export interface TryRecord {
  readonly at: string
  readonly status: number | null
  /** Null on success. */
  readonly failure: string | null
  readonly ms: number
}

export interface EventRecord {
  readonly event_id: string
  /** Null for a notice to the gateway's operator. */
  readonly account_id: string | null
  readonly type: string
  readonly test: boolean
  readonly created_at: string
  /** The payload, the same for every attempt. */
  readonly body: unknown
  readonly channels: readonly (Pick<
    DeliveryRecord,
    'channel' | 'state' | 'tries' | 'next_try_at'
  > & { readonly log: readonly TryRecord[] })[]
}

export interface RedeliveryRecord {
  readonly event_id: string
  readonly channels: readonly Channel[]
  /** Whether a gateway runs here, to send it. */
  readonly running: boolean
}

const isTest = ({ body }: Notice): boolean => JSON.parse(body).test === true

const render = (notice: Notice, account: string | null): DeliveryRecord => ({
  event_id: notice.eventId,
  account,
  channel: notice.channel,
  type: notice.type,
  test: isTest(notice),
  state: notice.state,
  tries: notice.tries,
  created_at: renderInstant(notice.createdAt),
  next_try_at: renderInstant(notice.nextTryAt),
})

const renderTry = ({ at, ...rest }: DeliveryTry): TryRecord => ({ at: renderInstant(at), ...rest })

const MAX_NOTICES = 10_000

/** Newest first. @throws account_not_found */
export const listDeliveries = verb(
  z.strictObject({
    account: accountField,
    state: orNull(z.enum(NOTICE_STATES)),
    /** The last notice of the page before. */
    before: orNull(z.strictObject({ event_id: z.string(), channel: z.enum(CHANNELS) })),
    limit: pageField(MAX_NOTICES),
  }),
  async (deps, { account, state, before, limit }): Promise<readonly DeliveryRecord[]> => {
    const { id: accountId, name } = await findAccount(deps, account)
    const last = before && { eventId: before.event_id as EventId, channel: before.channel }
    const query = {
      accountId,
      withOperators: hasOperators(deps, name),
      limit,
      ...statedIn({ state, before: last }),
    }
    return (await deps.store.notices.list(query)).map((notice) =>
      render(notice, notice.accountId === null ? null : name),
    )
  },
)

/** By id, or by its end as lists show it. Only of the account that `scope` names; null is every account. @throws account_not_found, notice_not_found */
async function findEvent(deps: OperatorDeps, event: string, scope: string | null) {
  const account = await findScope(deps, scope)
  const end = shownEndOf('evt_', event)
  const id = (end === null ? null : await endingIn(deps, end, account)) ?? event
  const [first, ...rest] = await deps.store.notices.find(id as EventId)
  if (first && (account === null || isOf(deps, account, first))) {
    return [first, ...rest] as const
  }
  throw new GatewayError(
    'notice_not_found',
    `there is no notice ${event}${account === null ? '' : ` of account ${account.name}`}`,
    {
      hint: 'gatewayctl deliveries list',
    },
  )
}

/** To the operator, the default account is their own too; to a person of it, the operator's notices are none. */
const hasOperators = ({ actor }: OperatorDeps, account: string): boolean =>
  actor === undefined && account === DEFAULT_ACCOUNT_NAME

const isOf = (deps: OperatorDeps, { id, name }: Account, { accountId }: Notice): boolean =>
  accountId === id || (accountId === null && hasOperators(deps, name))

/** The only notice whose id ends so; null where there is none. @throws notice_not_found for several */
async function endingIn(
  deps: OperatorDeps,
  end: string,
  account: Account | null,
): Promise<EventId | null> {
  const { store } = deps
  const ids = new Set<EventId>()
  for (const { id: accountId, name } of account === null
    ? await store.accounts.list()
    : [account]) {
    const query = { accountId, withOperators: hasOperators(deps, name), limit: MAX_NOTICES }
    for (const { eventId } of await store.notices.list(query)) {
      if (eventId.endsWith(end)) ids.add(eventId)
    }
  }
  if (ids.size > 1) {
    throw new GatewayError(
      'notice_not_found',
      `several notices have an id that ends in "${end}"\n${[...ids].join('\n')}`,
      { hint: 'gatewayctl deliveries list --json' },
    )
  }
  return [...ids][0] ?? null
}

/** One event with every attempt on every channel. @throws notice_not_found */
export const showDelivery = verb(
  z.strictObject({ account: scopeField, event: textField }),
  async (deps, { event, account }): Promise<EventRecord> => {
    const notices = await findEvent(deps, event, account)
    const [first] = notices
    return {
      event_id: first.eventId,
      account_id: first.accountId,
      type: first.type,
      test: isTest(first),
      created_at: renderInstant(first.createdAt),
      body: JSON.parse(first.body),
      channels: notices.map((notice) => {
        const { channel, state, tries, log } = notice
        return {
          channel,
          state,
          tries,
          next_try_at: renderInstant(notice.nextTryAt),
          log: log.map(renderTry),
        }
      }),
    }
  },
)

/**
 * Sends an event again with the same id and body: on the given channel, else on those where it was not delivered, else on
 * all; of a person, only where it was given up. @throws notice_not_found, invalid_request when no address is configured, or it is on its way
 */
export const redeliver = mutation(
  'deliveries.redeliver',
  z.strictObject({
    account: scopeField,
    event: textField,
    channel: orNull(z.enum(CHANNELS)),
  }),
  async (deps, input, act): Promise<RedeliveryRecord> => {
    const { store, clock } = deps
    const notices = await findEvent(deps, input.event, input.account)
    const [{ eventId, accountId }] = notices
    const reachable = channelsOf(
      await (accountId === null ? store.noticeSettings.find() : store.thresholds.find(accountId)),
    )
    const wanted = notices.filter(
      ({ channel }) => reachable.includes(channel) && channel === (input.channel ?? channel),
    )
    if (wanted.length === 0) {
      throw invalidInput('channel', `${eventId} cannot be sent again: no address is set for it`)
    }
    const missing = wanted.filter(({ state }) => state !== 'delivered')
    const ofOperator = missing.length > 0 ? missing : wanted
    // What a person has sent again would be a mail each time, to whom they like.
    const ofPerson = wanted.filter(({ state }) => state === 'dead')
    const again = deps.actor === undefined ? ofOperator : ofPerson
    if (again.length === 0) {
      throw invalidInput('event', `${eventId} was delivered, or is on its way still`)
    }
    const channels = again.map(({ channel }) => channel)
    await store.notices.post(
      again.map((notice) => ({ ...notice, state: 'pending', tries: 0, nextTryAt: clock.now() })),
      act(eventId, { channels }),
    )
    return { event_id: eventId, channels, running: deps.live !== null }
  },
)
