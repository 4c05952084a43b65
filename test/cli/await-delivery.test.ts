/** Waiting for a test notice: over when every channel was tried, whatever came of it, and not before. */
import { expect, test } from 'vitest'
import { awaitDelivery } from '#cli/thresholds/await-delivery.ts'
import type { EventId } from '#domain/id.ts'
import type { Channel } from '#domain/notice.ts'
import { act, openFurnished } from '#test/operator/deps.ts'

async function openTested() {
  const deps = await openFurnished()
  const where = { email: 'ops@example.org', webhook_url: 'https://ops.example.org/' }
  await act(deps, 'thresholds.set', where)
  const { event_id: event } = await act(deps, 'thresholds.test', {})
  let looks = 0
  const look = () => {
    looks++
    return act(deps, 'deliveries.show', { event })
  }
  const tried = (channel: Channel, failure: string | null) => {
    const attempt = { at: deps.clock.now(), status: null, failure, ms: 1 }
    const state = failure === null ? ('delivered' as const) : ('pending' as const)
    const then = { state, nextTryAt: failure === null ? null : deps.clock.now() }
    return deps.store.notices.tried(event as EventId, channel, attempt, then)
  }
  return { look, tried, looks: () => looks }
}

test('it waits for the slower channel, and a failure is an end too', async () => {
  const { look, tried, looks } = await openTested()
  let over = false
  const waiting = awaitDelivery(look).finally(() => {
    over = true
  })
  await tried('email', null)
  const before = looks()
  await expect.poll(looks).toBeGreaterThan(before + 1)
  expect(over).toBe(false)
  await tried('webhook', 'timeout')
  const { channels } = await waiting
  expect(channels.map(({ log }) => log.map(({ failure }) => failure))).toEqual([
    [null],
    ['timeout'],
  ])
})

test('it does not wait forever', async () => {
  const { look, tried } = await openTested()
  await tried('email', null)
  const { channels } = await awaitDelivery(look, 1)
  expect(channels.map(({ log }) => log.length)).toEqual([1, 0])
})
