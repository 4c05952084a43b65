/** Verbs for what the gateway tells its operator: list, show, mark as seen, test. */

import * as z from 'zod/mini'
import { CAUSES, type Severity } from '#domain/cause.ts'
import { type Instant, readInstant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { draftEvent, type EventBody, type StoredEvent } from '#domain/event.ts'
import type { EventId, KeyId } from '#domain/id.ts'
import { type LimitName, type LimitsRecord, renderLimits } from '#domain/limits.ts'
import { channelsOf } from '#domain/low-balance.ts'
import { CHANNELS, type Channel } from '#domain/notice.ts'
import { statedIn } from '#domain/stated.ts'
import { orNull, pageField, scopeField, textField } from '#forms/fields.ts'
import { makerOf } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { findScope } from './find-account.ts'
import { listAllKeys } from './list-keys.ts'
import { shownEndOf } from './shown-id.ts'
import type { TestRecord } from './thresholds.ts'
import { mutation, verb } from './verb.ts'

export interface NoticeRecord {
  readonly event_id: string
  readonly type: string
  readonly severity: Severity
  readonly message: string
  /** What ends it, or what to type next. */
  readonly hint: string
  readonly raised_at: string
  /** `open`: it goes on, as a ceiling does until its period ends or another is set; `over`: it was lifted, or happened and is past. */
  readonly state: 'open' | 'over'
  readonly lifted_at: string | null
  /** Null until an operator has seen it. */
  readonly seen_at: string | null
  /** Set while it is held back, for quiet hours or a digest. */
  readonly held_until: string | null
}

export interface ListedNoticeRecord extends NoticeRecord {
  /** What it is about, by the names of the cause. */
  readonly facts: Readonly<Record<string, unknown>>
}

export interface NoticeDetailRecord extends NoticeRecord {
  /** The payload. */
  readonly body: unknown
  /** Under which event it was sent: its own, or that of a digest; null while held, and where nobody is to be told. */
  readonly sent_as: string | null
  readonly channels: readonly { readonly channel: Channel; readonly state: string }[]
}

export interface SeenRecord {
  /** How many were unseen until now. */
  readonly seen: number
}

const dataOf = ({ body }: StoredEvent): EventBody['data'] => (JSON.parse(body) as EventBody).data

export async function renderNotices(
  deps: OperatorDeps,
  events: readonly StoredEvent[],
): Promise<readonly NoticeRecord[]> {
  return (await renderListed(deps, events)).map(({ facts: _, ...record }) => record)
}

async function renderListed(
  deps: OperatorDeps,
  events: readonly StoredEvent[],
): Promise<readonly ListedNoticeRecord[]> {
  const isStanding = await readStanding(deps, events)
  return events.map((event) => {
    const data = dataOf(event)
    const { severity, message, hint, ...facts } = data
    const isOpen = isStanding(facts) || (CAUSES[event.cause].lasts && event.liftedAt === null)
    return { ...render(event, data, isOpen), facts }
  })
}

/** The ceilings that some events tell of: one goes on for its day or month, unless another is set. */
async function readStanding({ store, clock }: OperatorDeps, events: readonly StoredEvent[]) {
  const ceilings = events.map(dataOf).filter(isOfNow(clock.now()))
  const keyIds = new Set(
    ceilings.flatMap(({ key_id: id }) => (id === undefined ? [] : (id as KeyId))),
  )
  const keys = keyIds.size === 0 ? [] : await store.keys.findMany([...keyIds])
  const isOfAccount = ceilings.some(({ key_id }) => key_id === undefined)
  const accounts = isOfAccount ? await store.accounts.list() : []
  const owners = [
    ...keys.filter(({ revokedAt }) => revokedAt === null),
    ...accounts.filter(({ closedAt }) => closedAt === null),
  ]
  const limits = new Map<unknown, LimitsRecord>(
    owners.map((owner) => [owner.id, renderLimits(owner.limits)]),
  )
  return (facts: Facts): boolean => {
    const { key_id, account_id, limit, limit_usd } = facts
    const owner = limits.get(key_id ?? account_id)
    return isOfNow(clock.now())(facts) && owner?.[limit as LimitName] === limit_usd
  }
}

type Facts = Readonly<Record<string, unknown>>

/** Whether it is of a ceiling whose day or month is not over. */
const isOfNow =
  (now: Instant) =>
  ({ limit_usd, resets_at }: Facts): boolean =>
    limit_usd !== undefined && (readInstant(String(resets_at)) ?? 0) > now

function render(event: StoredEvent, data: EventBody['data'], isOpen: boolean): NoticeRecord {
  return {
    event_id: event.id,
    type: event.cause,
    severity: event.severity,
    message: data.message,
    hint: data.hint,
    raised_at: renderInstant(event.at),
    state: isOpen ? 'open' : 'over',
    lifted_at: renderInstant(event.liftedAt),
    seen_at: renderInstant(event.seenAt),
    held_until: renderInstant(event.heldUntil),
  }
}

const MAX_NOTICES = 10_000

/** Newest first; of an account those that name it, and for a member of it those of their own keys. @throws account_not_found */
export const listNotices = verb(
  z.strictObject({
    account: scopeField,
    unseen: z._default(z.boolean(), false),
    /** The last event of the page before. */
    before: orNull(z.string()),
    limit: pageField(MAX_NOTICES),
  }),
  async (deps, { account, unseen, before, limit }): Promise<readonly ListedNoticeRecord[]> => {
    const within = await findScope(deps, account)
    const query = {
      unseenOnly: unseen,
      ...statedIn({ accountId: within?.id, before: (before || null) as EventId | null }),
    }
    const { events } = deps.store
    if (within === null || makerOf(deps.actor) === undefined) {
      return await renderListed(deps, await events.list({ ...query, limit }))
    }
    const own = new Set<unknown>((await listAllKeys(deps, true, within.id)).map(({ id }) => id))
    const all = await events.list({ ...query, limit: MAX_NOTICES })
    const ofOwn = all.filter((event) => own.has(dataOf(event)['key_id']))
    return await renderListed(deps, ofOwn.slice(0, limit))
  },
)

/** By id, or by its end as lists show it. @throws notice_not_found */
export const showNotice = verb(
  z.strictObject({ event: textField }),
  async (deps, { event: text }): Promise<NoticeDetailRecord> => {
    const { store } = deps
    const event = await findEvent(store.events, text)
    const sent = event.sentAs === null ? [] : await store.notices.find(event.sentAs)
    const [record] = await renderNotices(deps, [event])
    return {
      ...(record as NoticeRecord),
      body: JSON.parse(event.body),
      sent_as: event.sentAs,
      channels: sent.map(({ channel, state }) => ({ channel, state })),
    }
  },
)

async function findEvent(events: OperatorDeps['store']['events'], text: string) {
  const end = shownEndOf('evt_', text)
  const found =
    end === null
      ? await events.find(text as EventId)
      : (await events.list({ limit: MAX_NOTICES })).find(({ id }) => id.endsWith(end))
  if (found) return found
  throw new GatewayError('notice_not_found', `there is no notice ${text}`, {
    hint: 'gatewayctl notices list',
  })
}

/** Marks every notice up to one as seen; without one, all. @throws notice_not_found */
export const seeNotices = mutation(
  'notices.seen',
  z.strictObject({ event: orNull(z.string()) }),
  async ({ store }, input, act): Promise<SeenRecord> => {
    const [latest] = await store.events.list({ limit: 1 })
    const upTo = input.event === null ? latest?.id : (await findEvent(store.events, input.event)).id
    return { seen: upTo === undefined ? 0 : await store.events.see(upTo, act(upTo)) }
  },
)

/** Queues a notice marked as a test, quiet hours or not. @throws invalid_request where no address is set */
export const testNotices = mutation(
  'notices.test',
  z.strictObject({ channel: orNull(z.enum(CHANNELS)) }),
  async ({ store, clock, live }, { channel }, act): Promise<TestRecord> => {
    const set = channelsOf(await store.noticeSettings.find())
    const channels = channel === null ? set : set.filter((one) => one === channel)
    if (channels.length === 0) {
      const what = channel === null ? 'neither an e-mail nor a webhook' : `no ${channel}`
      throw new GatewayError('invalid_request', `${what} is set for notices`, {
        param: 'channel',
        hint: 'gatewayctl notices set --email ops@example.org',
      })
    }
    const at = clock.now()
    const { id: eventId, body } = draftEvent('gateway.test', {}, at)
    const notices = channels.map((one) => ({
      eventId,
      channel: one,
      accountId: null,
      type: 'gateway.test' as const,
      body,
      createdAt: at,
      state: 'pending' as const,
      tries: 0,
      nextTryAt: at,
    }))
    await store.notices.post(notices, act(null, { event_id: eventId, channels }))
    return { event_id: eventId, channels, running: live !== null }
  },
)
