// What waits for the database, or stands beside others that do, costs neither memory without a bound nor what others hold.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MOST_WAITING } from '#db/postgres/log/activity.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { HOUR_MS, later, systemClock } from '#domain/clock.ts'
import { until } from '#test/support/appliance.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { beginAnswer } from '#test/support/keep-answer.ts'
import { claimAt, issue, openNode, openTables } from '#test/support/nodes.ts'
import { aNotice, anAct, anActivity, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN, startPostgres } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 120_000 })

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('in one database', () => {
    const cluster = clusterForAll(bin)

    test('a claim that has waited is no clock that was set back', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store, { rpd: 9 })
      const admit = (agoMs: number) =>
        store.admissions.admit({ ...claimAt(store, key), at: later(systemClock.now(), -agoMs) })
      const stepped = async () =>
        (
          await openTables(address).get<{ to: number }>(
            'SELECT stepped_to AS to FROM account_state',
          )
        )?.to
      await admit(0)
      expect(await admit(6_000)).toMatchObject({ admitted: true, quota: { day: { remaining: 7 } } })
      expect(await stepped()).toBe(0)
      expect(await admit(60_000)).toMatchObject({
        admitted: true,
        quota: { day: { remaining: 6 } },
      })
      expect(await stepped()).toBeGreaterThan(0)
    })

    test('an answer is staged beside a change that stands still', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const { stage, end } = await beginAnswer(store, await issue(store), systemClock.now())
      const database = openTables(address)
      const go = Promise.withResolvers<void>()
      const locked = Promise.withResolvers<void>()
      let begun = 0
      const change = database.change(async () => {
        begun++
        locked.resolve()
        await go.promise
      })
      await locked.promise
      const staged = await stage()
      go.resolve()
      await change
      // The database has not had to end it first.
      expect(begun).toBe(1)
      expect(await end(staged)).toBe(true)
    })

    test('a delivery is noted beside a change that stands still, and what is tried at once is counted', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      await issue(store)
      await store.notices.post([aNotice(systemClock.now())], anAct())
      const [notice] = await store.notices.list({ limit: 1 })
      if (notice === undefined) throw new Error('it was posted')
      const { eventId, channel } = notice
      const tried = (status: number, state: 'delivered' | 'dead') =>
        store.notices.tried(
          eventId,
          channel,
          { at: systemClock.now(), status, failure: null, ms: 1 },
          { state, nextTryAt: null },
        )
      const go = Promise.withResolvers<void>()
      const locked = Promise.withResolvers<void>()
      let begun = 0
      const change = openTables(address).change(async () => {
        begun++
        locked.resolve()
        await go.promise
      })
      await locked.promise
      await tried(200, 'delivered')
      go.resolve()
      await change
      // The database has not had to end it first.
      expect(begun).toBe(1)
      await Promise.all([500, 501, 502, 503].map((status) => tried(status, 'dead')))
      const [found] = await store.notices.find(eventId)
      expect(found).toMatchObject({ state: 'delivered', tries: 1 })
      expect(found?.log).toHaveLength(5)
    })

    test('settings of notices leave the marks of ceilings alone, unless their shares are set', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      await issue(store, { dailySpend: usd('1') })
      const database = openTables(address)
      await database.run('UPDATE key_state SET mark_day = 5')
      await database.run('UPDATE account_state SET mark_day = 5')
      const marks = () =>
        database.get(
          'SELECT t.mark_day AS of_key, s.mark_day AS of_account FROM key_state t, account_state s',
        )
      await store.noticeSettings.set({ email: 'ops@example.org' }, undefined, anAct())
      expect(await marks()).toEqual({ of_key: 5, of_account: 5 })
      await store.noticeSettings.set({ ceilingPercents: [50] }, undefined, anAct())
      // The account has no ceiling.
      expect(await marks()).toEqual({ of_key: 0, of_account: 5 })
    })

    test.each([
      ['ahead', HOUR_MS / 2],
      ['behind', -2 * HOUR_MS],
    ])(
      'a notice that one node has in hand is no other node’s, whose clock is %s',
      async (_, offMs) => {
        const address = await cluster.create()
        const store = await openNode(address, 'a')
        const clock = { ...systemClock, now: () => later(systemClock.now(), offMs) }
        const other = await openPostgres({ address, clock, node: 'b' })
        onTestFinished(() => other.close())
        await issue(store)
        const posted = later(systemClock.now(), -3 * HOUR_MS)
        await store.notices.post([aNotice(posted)], anAct())
        const claim = (at = systemClock.now()) => store.notices.claim(at, later(at, 60_000), 9)
        expect(await claim()).toHaveLength(1)
        expect(await other.notices.claim(clock.now(), later(clock.now(), 60_000), 9)).toEqual([])
        expect(await claim()).toEqual([])
        // Until it is over by its own clock.
        expect(await claim(later(systemClock.now(), 60_000))).toHaveLength(1)
      },
    )

    test('lines of refused requests wait up to a bound while the database is away, and what is dropped is told', async () => {
      // Of its own, because it crashes.
      const server = await startPostgres(bin)
      onTestFinished(server.stop)
      const store = await openNode(await server.create(), 'a')
      const key = await issue(store)
      const note = () =>
        store.activity.note(anActivity(claimAt(store, key), { endedBy: 'refused', status: 429 }))
      const told = async () => {
        const acts = await store.acts.list({ verb: 'activity.drop', limit: 9 }).catch(() => [])
        return acts.reduce((lines, { changed }) => lines + Number(changed['lines']), 0)
      }
      await server.crash()
      note()
      await expect(store.acts.list({ limit: 1 })).rejects.toMatchObject({
        code: 'store_unavailable',
      })
      server.start()
      // Though nothing is refused after it.
      await until(async () => (await told()) === 1, 'the line that has waited for too long is told')
      await server.crash()
      const many = MOST_WAITING + 7
      for (let n = 0; n < many; n++) note()
      server.start()
      await until(async () => (await told()) > 1, 'it is told')
      expect(await told()).toBeGreaterThanOrEqual(1 + 7)
      expect(await told()).toBeLessThanOrEqual(1 + many)
    })
  })
}
