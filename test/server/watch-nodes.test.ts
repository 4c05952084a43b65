// What a machine learns of nodes from the store alone: each request that ends is told once, whenever it came and however late its line is.
import { describe, expect, test, vi } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import type { Claim } from '#domain/admission.ts'
import { HOUR_MS, type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { FIGURES_MS, readSpan } from '#domain/snapshot/figures.ts'
import { watchNodes } from '#server/watch-nodes.ts'
import type { GatewayStore } from '#signin/store.ts'
import { until } from '#test/support/appliance.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { claimAt, issue, openNode, settle } from '#test/support/nodes.ts'
import { aClaim, anActivity } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 60_000 })

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('what is seen of nodes', () => {
    const cluster = clusterForAll(bin)

    /** Two nodes, and a watch by a clock that a test moves: a second passes before each look. */
    async function open() {
      const address = await cluster.create()
      const [one, other] = [await openNode(address, 'a'), await openNode(address, 'b')]
      const key = await issue(one, {})
      const clock = handClock(new Date().toISOString())
      if (one.nodes === undefined) throw new Error('it has nodes')
      const watch = watchNodes({ nodes: one.nodes, keys: one.keys, clock, here: null })
      const look = async (): Promise<readonly string[]> => {
        const before = watch.pulse.recent.count
        clock.advance(1_000)
        await watch.look()
        return [...watch.pulse.recent.since(before)].map(({ generationId }) => generationId)
      }
      return { one, other, key, clock, watch, look }
    }
    /** A line of one that arrived so long ago, and has ended so long ago. */
    async function log(
      store: GatewayStore,
      key: ApiKey,
      now: Instant,
      { arrivedMs, endedMs = 0 }: { readonly arrivedMs: number; readonly endedMs?: number },
    ): Promise<GenerationId> {
      const claim: Claim = aClaim(key, later(now, -arrivedMs))
      const line: ActivityEntry = anActivity(claim, { totalMs: arrivedMs - endedMs })
      store.activity.note(line)
      await store.activity.find(line.generationId)
      return line.generationId
    }

    test('a request in progress is that of its node, and is told of once it has ended', async () => {
      const { one, other, key, watch, look } = await open()
      const claim = claimAt(other, key)
      expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
      expect(await look()).toEqual([])
      expect(watch.inFlight(9)).toMatchObject([
        {
          node: 'b',
          generationId: claim.generationId,
          state: 'elsewhere',
          key: { name: key.name },
          outputTokens: null,
        },
      ])
      expect(watch.count()).toBe(1)
      expect(watch.nodes()).toMatchObject([
        { name: 'a', in_flight: 0 },
        { name: 'b', in_flight: 1 },
      ])
      expect(await settle(other, claim, '0.01')).toBe(true)
      expect(await look()).toEqual([claim.generationId])
      expect([watch.inFlight(9), watch.count(), watch.peak()]).toEqual([[], 0, 1])
      expect(await look()).toEqual([])
      expect((await one.audit()).findings).toEqual([])
    })

    test('one that ran for an hour is told of when it ends, and what was there before is not', async () => {
      const { one, other, key, clock, look } = await open()
      await log(one, key, clock.now(), { arrivedMs: HOUR_MS, endedMs: FIGURES_MS + MINUTE_MS })
      const long = { ...claimAt(other, key), at: later(clock.now(), -HOUR_MS) }
      const claim = { ...long, generationId: aClaim(key, long.at).generationId }
      expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
      expect(await look()).toEqual([])
      await settle(other, claim, '0.01')
      expect(await look()).toEqual([claim.generationId])
    })

    test.each([
      ['that has just ended', { arrivedMs: 40 }, 1],
      ['of a node whose clock is behind', { arrivedMs: 6_040, endedMs: 6_000 }, 11],
      ['that was refused after half a minute', { arrivedMs: 31_000 }, 11],
    ] as const)('a line %s is told of once', async (_, when, withinLooks) => {
      const { one, key, clock, look } = await open()
      await look()
      for (let nth = 0; nth < 3; nth++) await look()
      const id = await log(one, key, later(clock.now(), 900), when)
      const told: string[] = []
      for (let nth = 0; nth < withinLooks; nth++) told.push(...(await look()))
      expect(told).toEqual([id])
      for (let nth = 0; nth < 25; nth++) told.push(...(await look()))
      expect(told).toEqual([id])
    })

    test('after a while without a look the minutes before are read, and figures say how far they reach', async () => {
      const { one, key, clock, watch, look } = await open()
      const first = await log(one, key, clock.now(), { arrivedMs: 2_000, endedMs: 1_900 })
      expect(await look()).toEqual([first])
      clock.advance(HOUR_MS)
      await log(one, key, clock.now(), { arrivedMs: HOUR_MS / 2, endedMs: HOUR_MS / 2 - 100 })
      const last = await log(one, key, clock.now(), { arrivedMs: MINUTE_MS })
      expect(await look()).toEqual([last])
      const span = readSpan(watch.pulse.endings, clock.now(), 2 * HOUR_MS)
      expect([span.endings.length, span.ms]).toEqual([1, FIGURES_MS])
    })

    test('of very many endings the latest are read', async () => {
      const { one, key, clock, watch, look } = await open()
      for (let nth = 0; nth < 1_200; nth++) {
        one.activity.note(anActivity(aClaim(key, later(clock.now(), -60_000 + nth * 40))))
      }
      await one.activity.count({})
      await look()
      expect(watch.pulse.recent.count).toBe(1_000)
      const span = readSpan(watch.pulse.endings, clock.now(), FIGURES_MS)
      expect(span.endings).toHaveLength(1_000)
      // The first two hundred took eight seconds.
      expect(span.ms).toBeGreaterThan(50_000)
      expect(span.ms).toBeLessThan(54_000)
    })

    test('the node that serves a request hears that it is to end, and no other', async () => {
      const { one, other, key, watch } = await open()
      const heard: string[] = []
      one.nodes?.heed((id) => void heard.push(`a ${id}`))
      const claim = claimAt(other, key)
      other.nodes?.heed((id) => {
        heard.push(`b ${id}`)
        void settle(other, claim)
      })
      expect(await watch.kill(claim.generationId)).toBeUndefined()
      expect(await other.admissions.admit(claim)).toMatchObject({ admitted: true })
      expect(await watch.kill(claim.generationId)).toEqual({ ended: true })
      expect(heard).toEqual([`b ${claim.generationId}`])
      expect(await watch.kill(claim.generationId)).toBeUndefined()
      const beats = async () => (await one.nodes?.list())?.map(({ beat_at }) => beat_at).join()
      const before = await beats()
      await until(async () => (await beats()) !== before, 'they have beaten again')
      expect(heard).toHaveLength(1)
    })
  })
}
