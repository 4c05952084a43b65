/** What every engine promises about the activity log. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEntry, ActivityQuery } from '#domain/activity.ts'
import { instant, later } from '#domain/clock.ts'
import type { UsageSource } from '#domain/ledger.ts'
import { aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
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
      refusal: {
        message: 'not this model',
        metadata: { limit: 'allowed_models', limit_value: 'a/*', used: 'b/c', resets_at: null },
        hold: usd('9007199.254740991'),
      },
    })
    bench.store.activity.note(refused)
    expect(await bench.store.activity.find(refused.generationId)).toEqual(refused)
    expect((await bench.admit(key)).refusal).toBeNull()
    await bench.restart()
    expect(await bench.store.activity.find(refused.generationId)).toEqual(refused)
  })

  test('the requests of keys that one person made are found, and no others', async () => {
    const { key: hers } = await bench.issue({}, { madeBy: 'usr_ann' })
    const { key: his } = await bench.issue({}, { madeBy: 'usr_bob' })
    const { key: operators } = await bench.issue()
    const lines = [hers, his, operators, hers].map((key) =>
      anActivity(aClaim(key, bench.clock.now())),
    )
    for (const line of lines) bench.store.activity.note(line)
    const found = await bench.store.activity.list({ madeBy: 'usr_ann', limit: 9 })
    expect(found.map(({ keyId }) => keyId)).toEqual([hers.id, hers.id])
    expect(await bench.store.activity.list({ madeBy: 'usr_none', limit: 9 })).toEqual([])
  })

  test('every class of usage is kept', async () => {
    const { key } = await bench.issue()
    const usage = {
      inputTokens: 1,
      cacheReadTokens: 2,
      cacheWriteTokens: 3,
      imageInputTokens: 4,
      outputTokens: 5,
      reasoningTokens: 6,
      imageOutputTokens: 7,
      inputImages: 8,
      outputImages: 9,
      searchUnits: 3,
      cacheWrite1hTokens: 10,
      serverCalls: { web_search: 11, code_execution: 12 },
    }
    const modifiers = ['service_tier=priority', 'speed=fast']
    const cutTools = ['web_search']
    const line = anActivity(aClaim(key, bench.clock.now()), { usage, modifiers, cutTools })
    bench.store.activity.note(line)
    const found = await bench.store.activity.find(line.generationId)
    expect(found?.usage).toEqual(usage)
    expect(found?.modifiers).toEqual(modifiers)
    expect(found?.cutTools).toEqual(cutTools)
  })

  test('a surface and a session are kept', async () => {
    const { key } = await bench.issue()
    const claim = aClaim(key, bench.clock.now())
    const line = anActivity({ ...claim, surface: 'messages', session: "it's {one}" })
    bench.store.activity.note(line)
    await bench.restart()
    expect(await bench.store.activity.find(line.generationId)).toEqual(line)
  })

  test('the node of a request is kept, whether it was refused, served or broken off', async () => {
    const { key } = await bench.issue()
    const node = "it's b"
    const refused = anActivity(aClaim(key, bench.clock.now()), { node })
    bench.store.activity.note(refused)
    const served = await bench.admit(key)
    const { claim } = served
    const at = bench.clock.now()
    const activity = anActivity(claim, { node })
    const { admissions } = bench.store
    expect(
      await admissions.settle(claim.generationId, { at, charge: null, activity, answer: null }),
    ).toBe(true)
    await bench.restart()
    for (const { generationId } of [refused, claim]) {
      expect(await bench.store.activity.find(generationId)).toMatchObject({ node })
    }
  })

  test('an unknown generation is undefined', async () => {
    expect(await bench.store.activity.find('gen-none')).toBeUndefined()
  })

  test('it is listed newest first and cut to what is asked', async () => {
    await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
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
    expect(await list({ until: later(start, 1_000) })).toEqual([a])
    expect(await list({ since: later(start, 1), until: later(start, 2_000) })).toEqual([b])
    expect(await list({ since: instant(-1), until: instant(-1) })).toEqual([])
  })

  describe('a filter', () => {
    const ids: string[] = []

    beforeEach(async () => {
      const { key } = await bench.issue()
      ids.length = 0
      for (const stated of LINES) {
        bench.clock.advance(1)
        const line = anActivity(aClaim(key, bench.clock.now()), stated)
        bench.store.activity.note(line)
        ids.push(line.generationId)
      }
    })

    const places = async (query: Partial<ActivityQuery>) =>
      (await bench.store.activity.list({ limit: 9, ...query })).map((line) =>
        ids.indexOf(line.generationId),
      )

    test.each<[string, Partial<ActivityQuery>, number[]]>([
      ['a model', { model: 'acme/small' }, [5, 3, 1, 0]],
      ['a model of that very name', { model: 'acme/smal' }, []],
      ['a provider', { provider: 'spare' }, [2, 1]],
      ['a surface', { surface: 'responses' }, [1]],
      [
        'a surface of those that name none',
        { surface: 'chat', errorsOnly: false },
        [5, 4, 3, 2, 0],
      ],
      ['a class of statuses', { status: { least: 400, most: 499 } }, [5, 3]],
      ['one status', { status: { least: 429, most: 429 } }, [3]],
      ['a duration, itself included', { leastTotalMs: 10_000 }, [2]],
      ['whatever did not run to its end', { errorsOnly: true }, [5, 4, 3, 2]],
      ['the name that a client gave', { requestId: 'twice' }, [4, 0]],
      ['several at once', { errorsOnly: true, model: 'acme/large', provider: 'spare' }, [2]],
    ])('%s', async (_, query, expected) => {
      expect(await places(query)).toEqual(expected)
      expect(await places({ ...query, limit: 1 })).toEqual(expected.slice(0, 1))
    })

    test('the end of its id, as text and not as a pattern', async () => {
      const [first = '', second = ''] = ids
      expect(await places({ idEnd: first.slice(-6) })).toEqual([0])
      expect(await places({ idEnd: second })).toEqual([1])
      expect(await places({ idEnd: `%${first.slice(-6)}` })).toEqual([])
      expect(await places({ idEnd: first.slice(4, 14) })).toEqual([])
    })
  })

  test('a line far back is found, and everything in front of it is listed', async () => {
    const { key } = await bench.issue()
    const note = (stated: Partial<ActivityEntry>) => {
      const line = anActivity(aClaim(key, bench.clock.now()), stated)
      bench.store.activity.note(line)
      return line
    }
    const first = note({ requestId: 'oldest' })
    for (let i = 0; i < 2_500; i++) note({ statedCost: usd('0.000000001'), ...CHARGED })
    expect(await bench.store.activity.list({ requestId: 'oldest', limit: 2 })).toEqual([first])
    const all = await bench.store.activity.list({ limit: 10_000 })
    expect(new Set(all.map((line) => line.generationId)).size).toBe(2_501)
    expect(all.at(-1)).toEqual(first)
    expect(await bench.store.activity.list({ limit: 1_500 })).toEqual(all.slice(0, 1_500))
    const before = all[1_499]?.generationId ?? 'gen-none'
    expect(await bench.store.activity.list({ before, limit: 9_999 })).toEqual(all.slice(1_500))
    expect(await bench.store.activity.count({})).toBe(2_501)
    expect(await bench.store.activity.count({ before })).toBe(1_001)
    expect(await bench.store.activity.count({ before, requestId: 'oldest' })).toBe(1)
    expect(await bench.store.activity.count({ accountId: 'acct_none' })).toBe(0)
    const oldest = { requestId: 'oldest', limit: 2 }
    const searched = await bench.store.activity.search({ ...oldest, lines: 1_500 })
    expect(searched).toEqual({ entries: [], searchedTo: before })
    const rest = { ...oldest, before, lines: 1_500 }
    expect(await bench.store.activity.search(rest)).toEqual({ entries: [first], searchedTo: null })
    const full = await bench.store.activity.search({ limit: 20, lines: 1_500 })
    expect(full).toEqual({ entries: all.slice(0, 20), searchedTo: null })
    const [drift] = await bench.store.activity.drift({})
    expect(drift).toMatchObject({ requests: 2_500, stated: usd('0.0000025'), charged: usd('2.5') })
  })

  test('what providers stated is summed up beside what was charged for it, by model', async () => {
    const { key } = await bench.issue()
    const start = bench.clock.now()
    const note = (
      model: string,
      cost: string,
      statedCost: string | null,
      usageSource: UsageSource | null = 'provider',
    ) => {
      bench.clock.advance(1_000)
      const claim = aClaim(key, bench.clock.now())
      bench.store.activity.note(
        anActivity(claim, {
          model,
          cost: usd(cost),
          statedCost: statedCost === null ? null : usd(statedCost),
          usageSource,
        }),
      )
    }
    note('acme/b', '0.01', '0.02')
    note('acme/a', '0.5', '0.4')
    note('acme/b', '0.01', '0.03', 'estimated')
    note('acme/b', '0.01', null)
    // Nobody was charged, so there is nothing of ours to compare.
    note('acme/b', '0', '9', null)
    note('acme/large', '9000000', '9000000')
    note('acme/large', '9000000', '9000000')
    const drift = (query = {}) => bench.store.activity.drift(query)
    const [a, b] = [
      { model: 'acme/a', requests: 1, charged: usd('0.5'), stated: usd('0.4') },
      { model: 'acme/b', requests: 2, charged: usd('0.02'), stated: usd('0.05') },
    ]
    const large = 18_000_000_000_000_000n
    expect(await drift()).toEqual([
      a,
      b,
      { model: 'acme/large', requests: 2, charged: large, stated: large },
    ])
    expect(await drift({ since: later(start, 2_000), until: later(start, 3_000) })).toEqual([a])
    expect(await drift({ since: later(start, 8_000) })).toEqual([])
    expect(await drift({ accountId: 'acct_1', since: start })).toHaveLength(3)
    expect(await drift({ accountId: 'acct_none' })).toEqual([])
  })
}

const CHARGED = { usageSource: 'provider', cost: usd('0.001') } as const

const LINES: readonly Partial<ActivityEntry>[] = [
  { requestId: 'twice' },
  { provider: 'spare', surface: 'responses' },
  {
    model: 'acme/large',
    provider: 'spare',
    status: 502,
    code: 'upstream_error',
    endedBy: 'upstream',
    totalMs: 10_000,
  },
  { provider: null, status: 429, code: 'rate_limit_exceeded', endedBy: 'refused' },
  {
    requestId: 'twice',
    model: 'acme/large',
    // Left in the middle of a stream.
    status: 200,
    endedBy: 'client',
    totalMs: 9_999,
  },
  { provider: null, status: 404, code: 'model_not_found', endedBy: 'refused' },
]
