// The tokens of a minute are sums that every admission and settlement carries on: they are those of the rows, and no window is read anew.
import { describe, expect, onTestFinished, test } from 'vitest'
import { askAdmission } from '#db/postgres/admission/admit.ts'
import type { Address } from '#db/postgres/engine/address.ts'
import type { Sql } from '#db/postgres/engine/database.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { DAY_MS, MINUTE_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import { fixedCost } from '#domain/offer-cost.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { openTables } from '#test/support/nodes.ts'
import { aClaim, aKey, anAccount, anAct, anActivity, aTopUp, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

/** The same numbers in every run. */
function drawing(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

/** What the rows say, of a key or an account: of the slots behind a place, what has ended and what is in progress. */
const WEIGHED = `
  SELECT coalesce(sum(a.input_tokens + a.output_tokens) FILTER (WHERE h.generation_id IS NULL), 0)::bigint AS spent, coalesce(sum(h.tokens), 0)::bigint AS held
  FROM slots s LEFT JOIN holds h ON h.generation_id = s.generation_id AND h.ended_at IS NULL LEFT JOIN activity a ON a.generation_id = s.generation_id`
const KEPT = `
  SELECT key_id AS id, t.tokens_spent AS kept_spent, t.tokens_held AS kept_held, w.* FROM key_state t,
    LATERAL (${WEIGHED} WHERE s.key_id = t.key_id AND s.pos > t.tokens_from) w WHERE tokens_from IS NOT NULL
  UNION ALL SELECT account_id, t.tokens_spent, t.tokens_held, w.* FROM account_state t,
    LATERAL (${WEIGHED} WHERE s.account_id = t.account_id AND s.pos > t.tokens_from) w WHERE tokens_from IS NOT NULL`

/** And of an account's minute, unless its clock was set lately. */
const MINUTE = `
  SELECT w.* FROM account_state t, place_of($now, t.pos, t.set_back, t.steps) p, LATERAL (${WEIGHED} WHERE s.account_id = t.account_id AND s.pos > p.pos - 60000) w
  WHERE t.account_id = 'acct_2' AND p.pos >= t.stepped_to AND $now >= t.newest_at - 5000`

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('the tokens of a minute', () => {
    const cluster = clusterForAll(bin)

    async function open(address: Address) {
      const clock = handClock('2026-08-22T12:00:00Z')
      const store = await openPostgres({ address, clock, node: 'a' })
      onTestFinished(() => store.close())
      const issue = async (tpm: number | null, accountId: 'acct_1' | 'acct_2') => {
        const secret = newSecret()
        const key = aKey(clock.now(), { tpm }, { accountId, label: labelOf(secret) })
        await store.keys.issue(key, secret, anAct())
        return key
      }
      const limit = (tpm: number | null): Limits => ({ ...NO_LIMITS, tpm })
      for (const id of ['acct_1', 'acct_2'] as const) {
        await store.accounts.create(anAccount({ id, name: id, limits: limit(3_000) }), anAct())
        await store.ledger.credit(aTopUp(clock.now(), usd('1000'), { accountId: id }), anAct())
      }
      const claim = (key: ApiKey, tokens: number) => ({
        ...aClaim(key, clock.now()),
        owner: store.owner,
        offers: [fixedCost(usd('0.001'), tokens)],
      })
      type Claimed = ReturnType<typeof claim>
      const settle = (claimed: Claimed, used: number) => {
        const usage = { ...NO_USAGE, inputTokens: used, outputTokens: 1 }
        const activity = anActivity(claimed, { usage })
        const settlement = { at: clock.now(), charge: null, activity, answer: null }
        return store.admissions.settle(claimed.generationId, settlement)
      }
      return { clock, store, issue, limit, claim, settle, tables: openTables(address) }
    }

    test('are those of its rows, whatever was admitted, settled, ended, moved, and whenever', async () => {
      const address = await cluster.create()
      const { clock, store, issue, limit, claim, settle, tables } = await open(address)
      const keys = [
        await issue(2_000, 'acct_1'),
        await issue(null, 'acct_1'),
        await issue(2_000, 'acct_2'),
      ] as const
      const draw = drawing(11)
      const pick = () => keys[draw(3)] ?? keys[0]
      let running: ReturnType<typeof claim>[] = []
      const seen = { admitted: 0, refused: 0, kept: 0, shown: 0 }
      const acts: readonly (() => Promise<unknown>)[] = [
        async () => {
          // At times the instants of one batch are apart.
          const [apartMs, one] = draw(8) === 0 ? [25_000, pick()] : [0, null]
          const claims = Array.from({ length: 1 + draw(6) }, () => {
            clock.advance(apartMs)
            return claim(one ?? pick(), 1 + draw(400))
          })
          const verdicts = await Promise.all(claims.map(store.admissions.admit))
          verdicts.forEach((verdict, nth) => {
            const isAdmitted = verdict !== 'stale' && verdict.admitted
            if (isAdmitted) running.push(claims[nth] as ReturnType<typeof claim>)
            seen[isAdmitted ? 'admitted' : 'refused']++
          })
        },
        async () => {
          const ended = running.filter(() => draw(2) === 0)
          running = running.filter((one) => !ended.includes(one))
          await Promise.all(ended.map((one) => settle(one, draw(500))))
        },
        async () => clock.advance([0, 1, 900, 20_000, MINUTE_MS, 3 * MINUTE_MS][draw(6)] ?? 0),
        // For a day after a step windows are counted in another way.
        async () => {
          if (draw(4) === 0) clock.step([-4_000, 4_000, -20_000, 2 * DAY_MS][draw(4)] ?? 0)
        },
        async () => {
          const act = draw(8)
          const [key] = keys
          if (act === 0) {
            const ids = running.slice(0, 2).map(({ generationId }) => generationId)
            await tables.run("SELECT end_holds(?::text[], ?, 'silent')", ids, clock.now())
          }
          if (act === 1) {
            const before = await store.keys.find(key.id)
            const other = before?.accountId === 'acct_1' ? 'acct_2' : 'acct_1'
            await store.keys.move(key.id, other, anAct(clock.now()))
          }
          if (act === 2) {
            const limits = limit(draw(2) === 0 ? null : 1_000 + draw(3_000))
            await store.accounts.amend('acct_1', { limits }, anAct(clock.now()))
            await store.keys.amend(key.id, { limits: { tpm: limits.tpm } }, anAct(clock.now()))
          }
        },
      ]
      for (let n = 0; n < (FULL ? 2_000 : 250); n++) {
        await acts[draw(acts.length)]?.()
        for (const { id, ...row } of await tables.all<Record<string, unknown>>(KEPT)) {
          const { kept_spent: spent, kept_held: held } = row
          expect({ n, id, ...row }).toMatchObject({ spent, held })
          seen.kept++
        }
        const now = clock.now()
        const minute = await tables.get<{ spent: number; held: number }>(MINUTE, { now })
        if (minute === null) continue
        const [shown] = await store.admissions.accountUse(['acct_2'], now)
        const remaining = Math.max(0, 3_000 - minute.spent - minute.held)
        expect({ n, remaining: shown?.tokens?.remaining }).toEqual({ n, remaining })
        seen.shown++
      }
      expect(seen.admitted).toBeGreaterThan(100)
      expect(seen.refused).toBeGreaterThan(10)
      expect(seen.kept).toBeGreaterThan(300)
      expect(seen.shown).toBeGreaterThan(100)
    })

    test('are taken away by what does not know of them, and added up anew', async () => {
      const address = await cluster.create()
      const { clock, store, issue, claim, settle, tables } = await open(address)
      const key = await issue(1_000, 'acct_1')
      const first = claim(key, 100)
      await store.admissions.admit(first)
      const kept = async () => (await tables.all(KEPT)).length
      expect(await kept()).toBe(2)
      // As a node of before settles.
      await cluster.run(
        address,
        `DELETE FROM holds; INSERT INTO activity SELECT (jsonb_populate_record(a, '{}')).* FROM activity a;
         UPDATE key_state SET in_progress = in_progress - 1; UPDATE account_state SET in_progress = in_progress - 1`,
      )
      expect(await kept()).toBe(0)
      clock.advance(1_000)
      const [shown] = await store.admissions.quota([key.id], clock.now())
      expect(shown?.tokens).toMatchObject({ limit: 1_000, remaining: 1_000 })
      const second = claim(key, 200)
      await store.admissions.admit(second)
      expect(await tables.all(KEPT)).toMatchObject([
        { kept_spent: 0, kept_held: 200 },
        { kept_spent: 0, kept_held: 200 },
      ])
      // As it admitted: its hold has no place.
      await cluster.run(address, 'UPDATE holds SET pos = NULL')
      await settle(second, 50)
      expect(await kept()).toBe(0)
      await store.admissions.admit(claim(key, 1))
      expect(await tables.all(KEPT)).toMatchObject([{ kept_spent: 51 }, { kept_spent: 51 }])
    })

    test('are those of this minute after days in which nothing was asked, and what left was deleted', async () => {
      const { clock, store, issue, claim, settle } = await open(await cluster.create())
      const key = await issue(1_000, 'acct_1')
      const first = claim(key, 100)
      await store.admissions.admit(first)
      await settle(first, 1_200)
      expect(await store.admissions.admit(claim(key, 10))).toMatchObject({ admitted: false })
      clock.advance(3 * DAY_MS)
      await store.admissions.trim(clock.now())
      const [shown] = await store.admissions.quota([key.id], clock.now())
      expect(shown?.tokens).toMatchObject({ limit: 1_000, remaining: 1_000 })
      expect(await store.admissions.admit(claim(key, 10))).toMatchObject({ admitted: true })
    })

    /** The pages of what this asks of the database. */
    async function pagesOf(sql: Sql, asking: (sql: Sql) => Promise<unknown>): Promise<number> {
      let pages = 0
      const explained: Sql = {
        ...sql,
        async all(text, ...bindings) {
          const plan = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`
          const [row] = await sql.all<Record<string, unknown>>(plan, ...bindings)
          const told = row?.['QUERY PLAN']
          const [{ Plan: of }] = typeof told === 'string' ? JSON.parse(told) : told
          pages += of['Shared Hit Blocks'] + of['Shared Read Blocks']
          return []
        },
      }
      await asking(explained)
      return pages
    }

    test('cost as much to ask with thousands of requests in it as with ten', async () => {
      const address = await cluster.create()
      const { clock, store, issue, claim, tables } = await open(address)
      await store.accounts.amend('acct_1', { limits: { tpm: 900_000 } }, anAct())
      const fill = async (key: ApiKey, count: number) => {
        await cluster.run(
          address,
          `WITH made AS (INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth)
             SELECT 'gen-${key.id}' || n, '${key.id}', 'acct_1', at, at, n, n
             FROM generate_series(1, ${count}) n, LATERAL (SELECT ${clock.now()} - 50000 + n * 40000 / ${count} AS at) x RETURNING generation_id)
           INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, stream, status, ended_by, started_at, admitted_at, total_ms,
             input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens, input_images,
             output_images, search_units, cost_nanos, cost_rub_micros, operator_cost_nanos, cache_write_1h_tokens, surface)
           SELECT generation_id, 'r', 'acct_1', '${key.id}', true, 'm', false, 200, 'completed', 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'chat' FROM made;
           ANALYZE slots; ANALYZE activity`,
        )
      }
      const sender = { now: () => clock.now(), epoch: () => store.owner.epoch }
      const measure = (count: number) =>
        tables.session(async (sql) => {
          const tpm = 10 * count + 1_000
          const key = await issue(tpm, 'acct_1')
          await fill(key, count)
          // It adds them up; what it holds, nobody waits for.
          expect(await store.admissions.admit(claim(key, 1))).toMatchObject({ admitted: true })
          clock.advance(1)
          const pages = (tokens: number) =>
            pagesOf(sql, (one) => askAdmission(one, [claim(key, tokens)], true, sender))
          // What the connection has to learn is no part of it.
          await pages(10)
          const admitted = await pages(10)
          await store.keys.amend(key.id, { limits: { tpm: 10 * count - 50 } }, anAct(clock.now()))
          await pages(10)
          return { admitted, refused: await pages(10) }
        })
      const few = await measure(10)
      const many = await measure(FULL ? 20_000 : 2_000)
      expect(many.admitted).toBeLessThan(few.admitted + 10)
      expect(many.refused).toBeLessThan(few.refused + 150)
    })
  })
}
