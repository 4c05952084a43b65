/** Hundreds of concurrent requests for the last slot, place or cent of every limit: exactly one succeeds, and nothing stays held. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { nanos, until } from '#test/support/appliance.ts'
import { AT_ONCE, CHARGE, openRaceGateway, type RaceGateway, type Refusal } from './race-gateway.ts'
import { RACES, type Race, SPENT } from './rows.ts'

let setup: RaceGateway
beforeAll(async () => {
  setup = await openRaceGateway()
})
// A race that failed must not block the next.
afterEach(() => setup.releaseAll())
afterAll(() => setup?.close())

/** The name of the account that is raced in. */
const placeOf = ({ limit, of }: Race): string => (of === undefined ? limit : `${of} ${limit}`)

/** The keys that race: one for a limit of a key, two for a balance or a limit of an account. */
function enter(race: Race): Promise<readonly string[]> {
  const { limit, value, of } = race
  const place = placeOf(race)
  if (limit === 'balance') return setup.openAccount(place, String(value), 2)
  if (of === 'account') return setup.openAccount(place, '1000', 2, {}, { [limit]: value })
  return setup.openAccount(place, '1000', 1, { [limit]: value })
}

/** Two requests, one after the other; returns those that still run. */
async function useUpTwo(
  key: string,
  { firstTwo }: Race,
): Promise<readonly Promise<Refusal | null>[]> {
  if (firstTwo === 'ended') {
    for (const place of [0, 1]) expect(await setup.ask(key, place, { model: 'slow/m' })).toBeNull()
    return []
  }
  const running = [0, 1].map((place) => setup.ask(key, place, { model: 'held/m' }))
  await until(() => setup.waiting() === 2, 'two of them run')
  return running
}

/** A client outside the limit: another end user of the key, or another account's key. */
async function keyOfBystander(race: Race, key: string): Promise<string> {
  if (race.bystander === 'another end user') return key
  const [beside = ''] = await setup.openAccount(`beside ${placeOf(race)}`, '1', 1)
  return beside
}

describe('T14: hundreds of concurrent requests for the last of', () => {
  const places = RACES.map((race) => [placeOf(race), race] as const)
  test.each(places)('%s: exactly one succeeds', async (_, race) => {
    const keys = await enter(race)
    const [key = '', second = key] = keys
    const running = await useUpTwo(key, race)
    const before = setup.held.seen.length

    const refused: Refusal[] = []
    const racing = Array.from({ length: AT_ONCE }, async (_, place) => {
      const refusal = await setup.ask(place % 4 < 2 ? key : second, place, { model: 'held/m' })
      if (refusal !== null) refused.push(refusal)
      return refusal
    })
    await until(() => refused.length === AT_ONCE - 1, 'all but one were refused')
    await until(() => setup.waiting() === running.length + 1, 'that one has come through')
    expect(setup.held.seen.length - before).toBe(1)
    expect(refused).toEqual(Array(AT_ONCE - 1).fill(race.refusal))
    await expectReckoned(keys, refused[0])
    const other = await keyOfBystander(race, key)
    expect(await setup.ask(other, 0, { user: 'bob' })).toBeNull()

    setup.releaseAll()
    const ended = await Promise.all([...racing, ...running])
    expect(ended.filter((refusal) => refusal === null)).toHaveLength(1 + running.length)
    expect(await setup.ask(key, 0, { model: 'slow/m' })).toEqual(race.after)
    const charges = await setup.chargesOf(placeOf(race))
    const taken = race.after === null ? 4 : 3
    expect(charges.filter((amount) => amount === CHARGE)).toHaveLength(taken)
    expect(charges).toHaveLength(taken + (other === key ? 1 : 0))
    await setup.expectNothingLeft(keys)
  })
})

/** A refusal's `used` is what was spent before, plus the hold of the request that runs. */
async function expectReckoned(
  keys: readonly string[],
  refusal: Refusal | undefined,
): Promise<void> {
  const { limit, used, held_usd } = refusal?.metadata ?? {}
  if (typeof used !== 'string') return
  const usages = await Promise.all(keys.map(setup.usageOf))
  const held = usages.reduce((sum, usage) => sum + nanos(String(usage['reserved_usd'])), 0n)
  expect(held).toBeGreaterThan(0n)
  if (held_usd !== undefined) expect(nanos(String(held_usd))).toBe(held)
  expect(nanos(used)).toBe(held + (limit === 'balance_usd' ? 0n : nanos(SPENT)))
}
