// The slots of the log are brought in late and in batches: whenever a window is read back, it has every request, and none twice.
import { Database } from 'bun:sqlite'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, HOUR_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { FULL } from '#test/support/tier.ts'
import { openWindowStore, type WindowStore } from './window-store.ts'

/** More than are brought in at once, so that it happens while requests pass. */
const MANY = 5_000
const PAGE_BYTES = 4_096

async function findings({ store }: WindowStore): Promise<readonly string[] | null> {
  return (await store.health({ checkIntegrity: true })).integrityFindings
}

/** In the table, as another connection sees it. */
function countSlots({ dataDir }: WindowStore): number {
  const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
  const { slots } = database.query('SELECT count(*) AS slots FROM window_slots').get() as {
    slots: number
  }
  database.close()
  return slots
}

test('slots are copied in batches while requests are served, and a longer request inserts its own', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  const slow = await deps.begin(key)
  await deps.serveAll(key, MANY)
  deps.clock.advance(5_000)
  // Enough for another batch to fall due, with those above long over.
  await deps.serveAll(key, MANY)
  await expect.poll(() => countSlots(deps)).toBeGreaterThan(4_000)
  await deps.settle(slow)
  expect(await findings(deps)).toEqual([])
  await deps.restart()
  expect(await findings(deps)).toEqual([])
  expect(await deps.countDay(key)).toBe(2 * MANY + 1)
  expect(countSlots(deps)).toBeGreaterThan(2 * MANY - 256)
  expect(await findings(deps)).toEqual([])
})

test('a clock that steps back behind the copied slots loses none', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  await deps.serveAll(key, 1_000)
  expect(await deps.countDay(key)).toBe(1_000)
  deps.clock.advance(-HOUR_MS)
  await deps.serveAll(key, 10)
  await deps.restart()
  expect(await findings(deps)).toEqual([])
  deps.clock.advance(HOUR_MS)
  expect(await deps.countDay(key)).toBe(1_010)
})

test('what the log no longer keeps has no slot', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  await deps.serveAll(key, 600)
  expect(await deps.countDay(key)).toBe(600)
  deps.clock.advance(2 * DAY_MS)
  await deps.serveAll(key, 3)
  expect(await deps.store.activity.trim(deps.clock.now(), 500)).toBe(500)
  expect(await findings(deps)).toEqual([])
  expect(await deps.store.activity.trim(deps.clock.now(), 500)).toBe(100)
  expect(countSlots(deps)).toBe(0)
  expect(await deps.countDay(key)).toBe(3)
})

test('a missing slot and a stray slot are found', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  await deps.serveAll(key, 600)
  await deps.countDay(key)
  await deps.close()
  const database = new Database(join(deps.dataDir, DATABASE_FILE))
  database.run(`DELETE FROM window_slots WHERE generation_id IN
    (SELECT generation_id FROM window_slots ORDER BY generation_id LIMIT 2)`)
  database.run("INSERT INTO window_slots VALUES ('key_x', 1, 'gen-x')")
  database.close()
  await deps.restart()
  expect(await findings(deps)).toEqual([
    '2 requests of the log have no window slot',
    '1 window slots have no request in the log',
  ])
})

test('a damaged page that is read while copying slots fails only its own readers', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  const claims = []
  for (let n = 0; n < 30; n++) {
    await deps.serveAll(key, 100)
    claims.push(await deps.begin(key))
    deps.clock.advance(1_000)
  }
  await Promise.all(claims.map(deps.settle))
  await deps.close()
  ruinPageWith(join(deps.dataDir, DATABASE_FILE), claims[15]?.generationId ?? '')
  await deps.restart()
  deps.clock.advance(5_000)
  // As many as are brought in at once, and some.
  await deps.serveAll(key, MANY)
  await new Promise((resolve) => setImmediate(resolve))
  expect(countSlots(deps)).toBe(0)
  await deps.serveAll(key, 10)
  await expect(deps.countDay(key)).rejects.toMatchObject({ code: 'store_unavailable' })
})

/** Writes garbage over the page of a row of the log. */
function ruinPageWith(path: string, id: string): void {
  const file = readFileSync(path)
  const page = Math.floor(file.indexOf(`${id}req_`) / PAGE_BYTES) * PAGE_BYTES
  writeFileSync(path, file.fill(0xa5, page, page + PAGE_BYTES))
}

/** Two keys, what each was asked, and who has not been answered yet. */
interface Scene {
  readonly deps: WindowStore
  readonly keys: readonly ApiKey[]
  readonly asked: number[]
  readonly waiting: Claim[]
}

/** What may happen, in any order, any number of times. */
const ACTS: Readonly<
  Record<string, (scene: Scene, key: number, size: number) => Promise<unknown>>
> = {
  async serve({ deps, keys, asked }, key, size) {
    await deps.serveAll(keys[key] as ApiKey, size)
    asked[key] = (asked[key] ?? 0) + size
  },
  async begin({ deps, keys, asked, waiting }, key) {
    waiting.push(await deps.begin(keys[key] as ApiKey))
    asked[key] = (asked[key] ?? 0) + 1
  },
  async end({ deps, waiting }) {
    const claim = waiting.shift()
    if (claim) await deps.settle(claim)
  },
  async pass({ deps }, _, size) {
    deps.clock.advance(100 * size - 2_000)
  },
  async look({ deps, keys, asked }, key) {
    expect(await deps.countDay(keys[key] as ApiKey)).toBe(asked[key])
  },
  async restart({ deps, waiting }) {
    await Promise.all(waiting.splice(0).map(deps.settle))
    await deps.restart()
  },
}

const acts = fc.array(
  fc.record({
    act: fc.constantFrom(...Object.keys(ACTS)),
    key: fc.nat(1),
    size: fc.integer({ min: 1, max: 400 }),
  }),
  { minLength: 5, maxLength: 25 },
)

test('whatever happens in between, each request is counted once', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (script) => {
      const deps = await openWindowStore()
      const keys = [await deps.issue(), await deps.issue()]
      const scene: Scene = { deps, keys, asked: [0, 0], waiting: [] }
      for (const { act, key, size } of script) await ACTS[act]?.(scene, key, size)
      await Promise.all(scene.waiting.map(deps.settle))
      deps.clock.advance(60_000)
      expect(await Promise.all(keys.map(deps.countDay))).toEqual(scene.asked)
      expect(await findings(deps)).toEqual([])
      await deps.close()
    }),
    { numRuns: FULL ? 40 : 10 },
  )
}, 60_000)
