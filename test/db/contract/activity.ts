/** What every engine promises about the activity log. */
import { expect, test } from 'vitest'
import { later } from '#domain/clock.ts'
import { aClaim, anAccount, anActivity } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function activityContract(bench: Bench): void {
  test('a refusal is noted, found and takes no slot', async () => {
    const { key } = await bench.issue({ rpm: 1 })
    const refused = anActivity(aClaim(key, bench.clock.now()), {
      status: 403,
      code: 'model_not_allowed',
      endedBy: 'refused',
      finishReason: null,
      firstEventMs: null,
      provider: null,
      endUser: "o'neil",
    })
    bench.store.activity.note(refused)
    expect(await bench.store.activity.find(refused.generationId)).toEqual(refused)
    expect((await bench.admit(key)).refusal).toBeNull()
    await bench.restart()
    expect(await bench.store.activity.find(refused.generationId)).toEqual(refused)
  })

  test('an unknown generation is undefined', async () => {
    expect(await bench.store.activity.find('gen-none')).toBeUndefined()
  })

  test('it is listed newest first and cut to what is asked', async () => {
    await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }))
    const { key } = await bench.issue()
    const { key: other } = await bench.issue({}, { accountId: 'acct_2' })
    const start = bench.clock.now()
    const first = await bench.spend(key, '0.001')
    bench.clock.advance(1_000)
    const second = aClaim(other, bench.clock.now())
    bench.store.activity.note(anActivity(second))
    bench.clock.advance(1_000)
    const third = await bench.spend(key, '0.001')
    const list = async (query: object) =>
      (await bench.store.activity.list({ limit: 9, ...query })).map((line) => line.generationId)
    const [a, b, c] = [first.generationId, second.generationId, third.generationId]
    expect(await list({})).toEqual([c, b, a])
    expect(await list({ limit: 1 })).toEqual([c])
    expect(await list({ keyId: key.id })).toEqual([c, a])
    expect(await list({ accountId: 'acct_2' })).toEqual([b])
    expect(await list({ since: later(start, 1_000) })).toEqual([c, b])
    expect(await list({ since: later(start, 2_001) })).toEqual([])
  })
}
