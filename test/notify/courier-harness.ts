/** A courier for tests: a real store in memory, a clock that the test moves, and one account with notifications. */
import { onTestFinished } from 'vitest'
import { openStore } from '#db/index.ts'
import type { AccountId, EventId } from '#domain/id.ts'
import type { Threshold } from '#domain/low-balance.ts'
import type { Channel, DeliveryTry, Notice } from '#domain/notice.ts'
import type { Store } from '#domain/store.ts'
import { newWebhookSecret } from '#domain/webhook-secret.ts'
import { type Courier, type CourierOptions, startCourier } from '#notify/courier.ts'
import { webhookPolicy } from '#notify/webhook-policy.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { aNotice, anAccount, anAct, aThreshold } from '#test/support/nouns.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

export interface CourierHarness {
  readonly store: Store
  readonly clock: HandClock
  /** Signs the webhooks of every account. */
  readonly secret: string
  /** Errors inside the gateway itself. */
  readonly faults: unknown[]
  /** Adds an account with this destination. */
  open(accountId: AccountId, where: Pick<Threshold, 'email' | 'webhookUrl'>): Promise<void>
  post(stated?: Partial<Notice>): Promise<Notice>
  start(options?: Partial<CourierOptions>): Courier
  /** Wakes the courier until it has read the outbox and processed what it found. */
  looked(courier: Pick<Courier, 'wake'>): Promise<void>
  /** Waits until this many attempts are recorded. */
  tried(notice: Notice, times: number): Promise<Kept>
  find(notice: Pick<Notice, 'eventId' | 'channel'>): Promise<Kept>
}

export type Kept = Notice & { readonly log: readonly DeliveryTry[] }

/** No account has a destination yet: `open` adds one. */
export async function openCourierHarness(): Promise<CourierHarness> {
  // Starts at the current time, because a receiver refuses old signatures.
  const clock = handClock(new Date().toISOString())
  const store = await openStore({
    dataDir: ':memory:',
    clock,
    masterKey: new Uint8Array(32).fill(7),
  })
  const secret = newWebhookSecret()
  const faults: unknown[] = []
  const couriers: Courier[] = []
  let looks = 0
  const notices = {
    ...store.notices,
    async claim(...args: Parameters<typeof store.notices.claim>) {
      const taken = await store.notices.claim(...args)
      looks++
      return taken
    },
  }
  onTestFinished(async () => {
    await Promise.all(couriers.map((courier) => courier.stop()))
    await store.close()
  })

  const find = async ({ eventId, channel }: { eventId: EventId; channel: Channel }) => {
    const found = (await store.notices.find(eventId)).find((one) => one.channel === channel)
    if (!found) throw new Error(`${eventId} is not in the outbox`)
    return found
  }
  return {
    store,
    clock,
    secret,
    faults,
    find,
    async open(accountId, where) {
      await store.accounts.create(anAccount({ id: accountId, name: accountId }), anAct())
      const threshold = aThreshold({ accountId, below: null, ...where })
      await store.thresholds.set(threshold, { secret, rotates: false }, anAct(clock.now()))
    },
    async post(stated = {}) {
      const notice = aNotice(clock.now(), stated)
      await store.notices.post([notice], anAct())
      return notice
    },
    start(options = {}) {
      const courier = startCourier({
        store: { ...store, notices },
        clock,
        smtp: null,
        webhooks: webhookPolicy({ loopback: true, private: false }),
        logFault: (cause) => faults.push(cause),
        ...options,
      })
      couriers.push(courier)
      return courier
    },
    async looked({ wake }) {
      // The second read of the outbox begins when the first has been processed.
      for (let more = 0; more < 2; more++) {
        const before = looks
        wake()
        await eventually(() => looks > before, 'the courier looks')
      }
    },
    async tried(notice, times) {
      await eventually(
        async () => (await find(notice)).log.length >= times,
        `${times} tries of ${notice.eventId} by ${notice.channel}`,
      )
      return await find(notice)
    },
  }
}
