// The slots of the log are brought in late and in batches: whenever a window is read back, it has every request, and none twice.
import { Database } from 'bun:sqlite'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/index.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, HOUR_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { openWindowHouse, type WindowHouse } from './window-house.ts'

/** More than are brought in at once, so that it happens while requests pass. */
const MANY = 5_000
const PAGE_BYTES = 4_096

async function findings({ store }: WindowHouse): Promise<readonly string[] | null> {
  return (await store.health({ checkIntegrity: true })).integrityFindings
}

/** In the table, as another connection sees it. */
function countSlots({ dataDir }: WindowHouse): number {
  const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
  const { slots } = database.query('SELECT count(*) AS slots FROM window_slots').get() as {
    slots: number
  }
  database.close()
  return slots
}

test('many are brought in while others pass, and whoever takes longer than they brings itself in', async () => {
  const house = await openWindowHouse()
  const key = await house.issue()
  const slow = await house.begin(key)
  await house.serveAll(key, MANY)
  house.clock.advance(5_000)
  // Enough for another batch to fall due, with those above long over.
  await house.serveAll(key, MANY)
  await expect.poll(() => countSlots(house)).toBeGreaterThan(4_000)
  await house.settle(slow)
  expect(await findings(house)).toEqual([])
  await house.restart()
  expect(await findings(house)).toEqual([])
  expect(await house.countDay(key)).toBe(2 * MANY + 1)
  expect(countSlots(house)).toBeGreaterThan(2 * MANY - 256)
  expect(await findings(house)).toEqual([])
})

test('a clock that steps back behind what was brought in loses nobody', async () => {
  const house = await openWindowHouse()
  const key = await house.issue()
  await house.serveAll(key, 1_000)
  expect(await house.countDay(key)).toBe(1_000)
  house.clock.advance(-HOUR_MS)
  await house.serveAll(key, 10)
  await house.restart()
  expect(await findings(house)).toEqual([])
  house.clock.advance(HOUR_MS)
  expect(await house.countDay(key)).toBe(1_010)
})

test('what the log no longer keeps has no slot', async () => {
  const house = await openWindowHouse()
  const key = await house.issue()
  await house.serveAll(key, 600)
  expect(await house.countDay(key)).toBe(600)
  house.clock.advance(2 * DAY_MS)
  await house.serveAll(key, 3)
  expect(await house.store.activity.trim(house.clock.now(), 500)).toBe(500)
  expect(await findings(house)).toEqual([])
  expect(await house.store.activity.trim(house.clock.now(), 500)).toBe(100)
  expect(countSlots(house)).toBe(0)
  expect(await house.countDay(key)).toBe(3)
})

test('a slot that is gone, and one that nobody took, are found', async () => {
  const house = await openWindowHouse()
  const key = await house.issue()
  await house.serveAll(key, 600)
  await house.countDay(key)
  await house.close()
  const database = new Database(join(house.dataDir, DATABASE_FILE))
  database.run(`DELETE FROM window_slots WHERE generation_id IN
    (SELECT generation_id FROM window_slots ORDER BY generation_id LIMIT 2)`)
  database.run("INSERT INTO window_slots VALUES ('key_x', 1, 'gen-x')")
  database.close()
  await house.restart()
  expect(await findings(house)).toEqual([
    '2 requests of the log have no window slot',
    '1 window slots have no request in the log',
  ])
})

test('a ruined page that is only read to bring slots in is left to whoever asks for it', async () => {
  const house = await openWindowHouse()
  const key = await house.issue()
  const claims = []
  for (let n = 0; n < 30; n++) {
    await house.serveAll(key, 100)
    claims.push(await house.begin(key))
    house.clock.advance(1_000)
  }
  await Promise.all(claims.map(house.settle))
  await house.close()
  ruinPageWith(join(house.dataDir, DATABASE_FILE), claims[15]?.generationId ?? '')
  await house.restart()
  house.clock.advance(5_000)
  // As many as are brought in at once, and some.
  await house.serveAll(key, MANY)
  await new Promise((resolve) => setImmediate(resolve))
  expect(countSlots(house)).toBe(0)
  await house.serveAll(key, 10)
  await expect(house.countDay(key)).rejects.toMatchObject({ code: 'store_unavailable' })
})

/** Writes garbage over the page of a row of the log. */
function ruinPageWith(path: string, id: string): void {
  const file = readFileSync(path)
  const page = Math.floor(file.indexOf(`${id}req_`) / PAGE_BYTES) * PAGE_BYTES
  writeFileSync(path, file.fill(0xa5, page, page + PAGE_BYTES))
}

/** Two keys, what each was asked, and who has not been answered yet. */
interface Scene {
  readonly house: WindowHouse
  readonly keys: readonly ApiKey[]
  readonly asked: number[]
  readonly waiting: Claim[]
}

/** What may happen, in any order, any number of times. */
const ACTS: Readonly<
  Record<string, (scene: Scene, key: number, size: number) => Promise<unknown>>
> = {
  async serve({ house, keys, asked }, key, size) {
    await house.serveAll(keys[key] as ApiKey, size)
    asked[key] = (asked[key] ?? 0) + size
  },
  async begin({ house, keys, asked, waiting }, key) {
    waiting.push(await house.begin(keys[key] as ApiKey))
    asked[key] = (asked[key] ?? 0) + 1
  },
  async end({ house, waiting }) {
    const claim = waiting.shift()
    if (claim) await house.settle(claim)
  },
  async pass({ house }, _, size) {
    house.clock.advance(100 * size - 2_000)
  },
  async look({ house, keys, asked }, key) {
    expect(await house.countDay(keys[key] as ApiKey)).toBe(asked[key])
  },
  async restart({ house, waiting }) {
    await Promise.all(waiting.splice(0).map(house.settle))
    await house.restart()
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
      const house = await openWindowHouse()
      const keys = [await house.issue(), await house.issue()]
      const scene: Scene = { house, keys, asked: [0, 0], waiting: [] }
      for (const { act, key, size } of script) await ACTS[act]?.(scene, key, size)
      await Promise.all(scene.waiting.map(house.settle))
      house.clock.advance(60_000)
      expect(await Promise.all(keys.map(house.countDay))).toEqual(scene.asked)
      expect(await findings(house)).toEqual([])
      await house.close()
    }),
    { numRuns: 40 },
  )
}, 60_000)
