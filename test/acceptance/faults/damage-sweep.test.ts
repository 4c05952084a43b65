/**
 * One page after the other is overwritten: `serve` ends with 6 and a reason, or answers 503, or the truth; never a valid key's
 * 401, a missing limit or a wrong balance, and it always ends. The full tier takes every page for noise, and a sample for a sector.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FULL } from '#test/support/tier.ts'
import { type Damage, type Moment, openScene, type Scene } from './damage-sweep.ts'

const SAMPLE = FULL ? 9 : 2

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(() => scene.close())

/** What overflowed from a row is text of that row: nothing in the file says what it was. */
const pagesOf = (damage: Damage, accepts: (owner: string) => boolean): readonly number[] => {
  const all = Array.from({ length: scene.pages }, (_, at) => at + 1).filter((page) => {
    const { owner, isOverflow } = scene.describe(page)
    return !isOverflow && accepts(owner)
  })
  const step = FULL && damage !== 'sector' ? 1 : Math.ceil(all.length / SAMPLE)
  return all.filter((_, at) => at % step === 0)
}

const IDENTITIES = /^(accounts|sqlite_autoindex_accounts_2|keys|keys_by_\w+|key_secrets(_by_key)?)$/

test.each<readonly [string, Damage, Moment, (owner: string) => boolean]>([
  ['noise, before the start', 'noise', 'start', () => true],
  ['noise, while it serves', 'noise', 'serving', () => true],
  ['noise in a provider, while it serves', 'noise', 'serving', (owner) => owner === 'providers'],
  ['noise in one sector, before the start', 'sector', 'start', () => true],
  [
    'an account or a key lost, before the start',
    'empty',
    'start',
    (owner) => IDENTITIES.test(owner),
  ],
  ['a provider lost, before the start', 'empty', 'start', (owner) => owner === 'providers'],
])(
  '%s',
  async (_, damage, moment, accepts) => {
    const wrong: Record<string, readonly string[]> = {}
    for (const page of pagesOf(damage, accepts)) {
      const found = await scene.examine(page, moment, damage)
      if (found.length > 0) wrong[`page ${page}, ${scene.describe(page).owner}`] = found
    }
    expect(wrong).toEqual({})
  },
  FULL ? 3_600_000 : 60_000,
)

test('some of these pages keep it from starting, and some only from answering', () => {
  expect(scene.seen.unstarted.size).toBeGreaterThan(0)
  expect(scene.seen.refused.size).toBeGreaterThan(0)
})
