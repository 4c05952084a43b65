/** What every engine promises about the log of acts: written once, read newest first, kept. */
import { expect, test } from 'vitest'
import { type Act, draftAct } from '#domain/act.ts'
import { later } from '#domain/clock.ts'
import type { Bench } from './bench.ts'

export function actsContract(bench: Bench): void {
  async function note(verb: string, stated: Partial<Act> = {}): Promise<Act> {
    const facts = { target: 'key_1', changed: { rpm_limit: { from: null, to: 60 } } }
    const act = { ...draftAct(bench.clock.now(), 'uid 7 (ann)', verb, facts), ...stated }
    await bench.store.acts.note(act)
    return act
  }

  test('an act is kept as it was noted, newest first', async () => {
    const start = bench.clock.now()
    const first = await note('limits.set', { target: null, who: "o'neil ☃" })
    const second = await note('keys.edit')
    bench.clock.advance(1_000)
    const third = await note('keys.revoke', { changed: { 'a "quoted" name': ['x', { y: 1.5 }] } })
    await bench.restart()
    const list = (query: object = {}) => bench.store.acts.list({ limit: 9, ...query })
    expect(await list()).toEqual([third, second, first])
    expect(await list({ limit: 1 })).toEqual([third])
    expect(await list({ before: third.id })).toEqual([second, first])
    expect(await list({ before: first.id })).toEqual([])
    expect(await list({ verb: 'keys.edit' })).toEqual([second])
    expect(await list({ since: later(start, 1_000) })).toEqual([third])
    expect(await list({ until: later(start, 1_000) })).toEqual([second, first])
    expect(await list({ since: later(start, 1), until: later(start, 1_000) })).toEqual([])
  })

  test('one id is noted once', async () => {
    const act = await note('limits.set')
    await expect(note('limits.set', { id: act.id })).rejects.toThrow()
    expect(await bench.store.acts.list({ limit: 9 })).toEqual([act])
  })
}
