// kill -9 at any instant loses nothing that was acknowledged, and leaves no hold behind.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { startChild } from '#test/support/child.ts'
import { aRepeat, findAnswer } from '#test/support/keep-answer.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'

const CROSSING = join(import.meta.dirname, 'children/keep-crossing.ts')
const ANSWERS = join(import.meta.dirname, 'children/keep-answers.ts')
const BUSY = join(import.meta.dirname, 'children/keep-busy.ts')
const ROUNDS = FULL ? 10 : 2
const MAX_BUSY_MS = 250

/** The last line may have been cut by the kill; only whole ones are promises. */
const wholeLines = (printed: string): readonly string[] => printed.split('\n').slice(0, -1)

test('after each kill: every acknowledged charge and credit is there, once', async () => {
  const dataDir = tempDirectory()
  const charged = new Map<string, bigint>()
  const credited = new Set<string>()

  // A kill may come after the first charge: so many rounds, and as many more as it takes.
  for (let round = 0; round < ROUNDS || charged.size <= ROUNDS * 10; round++) {
    const busy = startChild(BUSY, dataDir)
    await busy.says('settled')
    await Bun.sleep(Math.random() * MAX_BUSY_MS)
    await busy.kill()
    for (const line of wholeLines(busy.printed)) {
      const [what, id = '', nanos = '0'] = line.split(' ')
      if (what === 'settled') charged.set(id, BigInt(nanos))
      else credited.add(id)
    }

    const store = await openStore({ dataDir, clock: systemClock })
    const entries = await store.ledger.list({ limit: 1_000_000 })
    const charges = new Map(
      entries.map(({ generationId, amount }) => [generationId ?? '', -amount]),
    )
    const refs = new Set(entries.map(({ ref }) => ref))
    const lines = await store.activity.list({ limit: 1_000_000 })
    const lost = [...charged].filter(([id, nanos]) => charges.get(id as never) !== nanos)
    expect(lost).toEqual([])
    expect([...credited].filter((ref) => !refs.has(ref))).toEqual([])
    expect((await store.audit()).findings).toEqual([])
    // Whatever was in progress was broken off by the gateway, and costs nothing.
    const voided = lines.filter(({ endedBy }) => endedBy === 'gateway')
    expect(voided.filter(({ generationId }) => charges.has(generationId))).toEqual([])
    expect(lines.length - voided.length).toBe(
      entries.filter(({ kind }) => kind === 'charge').length,
    )
    expect(await store.health({ checkIntegrity: true })).toMatchObject({
      openHolds: 0,
      writable: true,
      integrityFindings: [],
    })
    await store.close()
  }
  expect(charged.size).toBeGreaterThan(ROUNDS * 10)
}, 60_000)

test('after each kill: no mark without its notices, no crossing that is not told', async () => {
  const dataDir = tempDirectory()
  let toldInAll = 0
  for (let round = 0; round < ROUNDS; round++) {
    const crossing = startChild(CROSSING, dataDir)
    await crossing.says('crossed 4')
    await Bun.sleep(Math.random() * MAX_BUSY_MS)
    await crossing.kill()
    const lines = wholeLines(crossing.printed).map((line) => line.split(' '))
    const accountId = lines[0]?.[1] as AccountId
    const crossed = Number(lines.at(-1)?.[1])

    const store = await openStore({ dataDir, clock: systemClock })
    const { below, mark } = await store.thresholds.find(accountId)
    const balance = (await store.accounts.find(accountId))?.balance ?? 0n
    expect(mark !== null).toBe(balance < (below ?? 0n))
    const notices = await store.notices.list({ accountId, limit: 1_000_000 })
    const events = Map.groupBy(notices, ({ eventId }) => eventId)
    for (const [eventId, both] of events) {
      expect([eventId, both.map(({ channel }) => channel)]).toEqual([eventId, ['email', 'webhook']])
    }
    // One crossing may have been committed that nobody lived to hear of.
    expect(events.size - crossed).toBeOneOf([0, 1])
    if (mark) expect(notices[0]?.createdAt).toBe(mark.notifiedAt)
    await store.close()
    toldInAll += events.size
  }
  expect(toldInAll).toBeGreaterThan(ROUNDS * 3)
}, 60_000)

test(`${ROUNDS} kills: an answer is found if and only if it was paid for, and what was staged is swept`, async () => {
  const dataDir = tempDirectory()
  let lost = 0
  for (let round = 0; round < ROUNDS; round++) {
    const keeping = startChild(ANSWERS, dataDir, `${round}`)
    await keeping.says('settled')
    await Bun.sleep(Math.random() * MAX_BUSY_MS)
    await keeping.kill()
    const lines = wholeLines(keeping.printed).map((line) => line.split(' '))
    const settled = new Set(lines.filter(([what]) => what === 'settled').map(([, name]) => name))

    const store = await openStore({ dataDir, clock: systemClock })
    const now = systemClock.now()
    const charges = await store.ledger.list({ kind: 'charge', limit: 1_000_000 })
    const charged = new Set(charges.map(({ generationId }) => generationId as string))
    for (const [what, name = '', id = ''] of lines) {
      if (what !== 'begun') continue
      const found = await findAnswer(store, { id: `key_${round}` }, now, aRepeat(name))
      expect([name, found?.generationId]).toEqual([name, charged.has(id) ? id : undefined])
      if (settled.has(name)) expect(found).toBeDefined()
      else lost++
    }
    // Its name is free again.
    const left = await store.answers.find(`key_${round}`, aRepeat('left'), now)
    expect(left).toBeNull()
    expect(await store.answers.trim(now, 1_000_000)).toBeGreaterThanOrEqual(2)
    expect(await store.answers.trim(now, 1_000_000)).toBe(0)
    expect((await store.audit()).findings).toEqual([])
    await store.close()
  }
  expect(lost).toBeGreaterThanOrEqual(ROUNDS)
}, 60_000)
