/** What every engine promises about keys and their secrets. */
import { describe, expect, test } from 'vitest'
import { later } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { newSecret } from '#domain/secret.ts'
import { aKey, anAccount, anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'
import { rotationContract } from './rotation.ts'

export function keysContract(bench: Bench): void {
  const refusalOf = async (act: Promise<unknown>) =>
    ((await act.catch((thrown) => thrown)) as { code?: string }).code

  describe('a key', () => {
    test('is kept whole, with every limit', async () => {
      const { key } = await bench.issue(
        {
          rpm: 1,
          rpd: 2,
          concurrency: 3,
          dailySpend: usd('4.000000001'),
          monthlySpend: usd('0'),
          endUserRpm: 5,
          endUserDailySpend: usd('6.5'),
          maxOutputTokens: 7,
          allowedModels: ['acme/*', 'other/x'],
        },
        {
          kind: 'provisioning',
          note: 'for "Ünïcode" %_\'',
          expiresAt: later(bench.clock.now(), 1),
        },
      )
      expect(await bench.store.keys.find(key.id)).toEqual(key)
    })

    test('without limits has none, and an empty allow-list is not no list', async () => {
      const { key } = await bench.issue()
      expect(await bench.store.keys.find(key.id)).toEqual(key)
      const { key: closed } = await bench.issue({ allowedModels: [] })
      expect((await bench.store.keys.find(closed.id))?.limits.allowedModels).toEqual([])
    })

    test('is found for one that has waited as the next request finds it', async () => {
      const { key, secret } = await bench.issue({ allowedModels: ['acme/*'] })
      const { store, clock } = bench
      await store.keys.amend(key.id, { limits: { allowedModels: [] } }, anAct())
      const found = await store.keys.current(key.id)
      expect(found?.limits.allowedModels).toEqual([])
      expect(found).toEqual(await store.keys.findBySecret(secret, clock.now()))
      expect(await store.keys.current('key_none' as KeyId)).toBeUndefined()
    })

    test('answers to its secret, and to no other', async () => {
      const { key, secret } = await bench.issue()
      const { store, clock } = bench
      expect(await store.keys.findBySecret(secret, clock.now())).toEqual(key)
      const other = newSecret()
      const strangers = [
        other,
        secret.slice(0, 46) + other.slice(46),
        secret.slice(0, 20) + other.slice(20),
      ]
      for (const stranger of strangers) {
        expect(
          await store.keys.findBySecret(stranger as typeof secret, clock.now()),
        ).toBeUndefined()
      }
    })

    test('answers in every state: judging it is not the store’s part', async () => {
      const { key, secret } = await bench.issue()
      const { store, clock } = bench
      await store.keys.revoke(key.id, anAct(clock.now()))
      const found = await store.keys.findBySecret(secret, clock.now())
      expect(found?.revokedAt).toBe(clock.now())
    })

    test('that does not exist is undefined', async () => {
      expect(await bench.store.keys.find('key_none')).toBeUndefined()
    })

    test('remembers its last use', async () => {
      const { key } = await bench.issue()
      for (let minute = 0; minute < 5; minute++) {
        await bench.spend(key, '0.001')
        bench.clock.advance(59_000)
      }
      const lastUse = later(bench.clock.now(), -59_000)
      expect((await bench.store.keys.find(key.id))?.lastUsedAt).toBe(lastUse)
      await bench.restart()
      const found = await bench.store.keys.find(key.id)
      // After a restart a minute's doubt is allowed, no more.
      expect(found?.lastUsedAt).toBeGreaterThan(lastUse - 60_000)
    })
  })

  test('a use after the clock was set back is remembered over a restart', async () => {
    const { key } = await bench.issue()
    await bench.store.keys.noteUse(key.id, bench.clock.now())
    bench.clock.advance(-86_400_000)
    await bench.store.keys.noteUse(key.id, bench.clock.now())
    await bench.restart()
    expect((await bench.store.keys.find(key.id))?.lastUsedAt).toBe(bench.clock.now())
  })

  test('a key that claims nothing is remembered to have been used, also after a restart', async () => {
    const { key } = await bench.issue()
    const { clock } = bench
    const use = async () => await bench.store.keys.noteUse(key.id, clock.now())
    const lastUse = async () => (await bench.store.keys.find(key.id))?.lastUsedAt
    expect(await lastUse()).toBeNull()
    await use()
    expect(await lastUse()).toBe(clock.now())
    for (let minute = 0; minute < 3; minute++) {
      clock.advance(59_000)
      await use()
    }
    expect(await lastUse()).toBe(clock.now())
    await bench.restart()
    expect(await lastUse()).toBeGreaterThan(later(clock.now(), -60_000))
    clock.advance(120_000)
    await use()
    await bench.restart()
    expect(await lastUse()).toBe(clock.now())
    await bench.store.keys.noteUse('key_none', clock.now())
  })

  test('many are found at once, in the order asked for; one that is not there is left out', async () => {
    const { key: one } = await bench.issue()
    const { key: two } = await bench.issue()
    const { keys } = bench.store
    expect(await keys.findMany([two.id, 'key_none', one.id])).toEqual([two, one])
    expect(await keys.findMany([])).toEqual([])
  })

  describe('an amendment', () => {
    test('changes what it states and nothing else', async () => {
      const { key, secret } = await bench.issue({ rpm: 1, rpd: 2, dailySpend: usd('3') })
      const { store, clock } = bench
      clock.advance(1_000)
      const amended = await store.keys.amend(
        key.id,
        { name: 'renamed', limits: { rpm: 5, dailySpend: null } },
        anAct(clock.now()),
      )
      const expected = {
        ...key,
        name: 'renamed',
        limits: { ...key.limits, rpm: 5, dailySpend: null },
        updatedAt: clock.now(),
      }
      expect(amended).toEqual({ before: key, after: expected })
      expect(await store.keys.find(key.id)).toEqual(expected)
      expect(await store.keys.findBySecret(secret, clock.now())).toEqual(expected)
    })

    test('disables and enables again', async () => {
      const { key } = await bench.issue()
      const { keys } = bench.store
      await keys.amend(key.id, { disabled: true }, anAct(bench.clock.now()))
      expect((await bench.admit(key)).refusal?.code).toBe('key_revoked')
      await keys.amend(key.id, { disabled: false }, anAct(bench.clock.now()))
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test('holds from the next request', async () => {
      const { key } = await bench.issue({ concurrency: 1 })
      const { claim } = await bench.admit(key)
      expect((await bench.admit(key)).refusal?.code).toBe('concurrency_limit_exceeded')
      const now = bench.clock.now()
      await bench.store.keys.amend(key.id, { limits: { concurrency: 2 } }, anAct(now))
      expect((await bench.admit(key)).refusal).toBeNull()
      await bench.store.keys.amend(key.id, { limits: { concurrency: null } }, anAct(now))
      expect((await bench.admit(key)).refusal).toBeNull()
      expect(await bench.settle(claim, '0.01')).toBe(true)
    })

    test('of a revoked or an unknown key is refused', async () => {
      const { key } = await bench.issue()
      const { keys } = bench.store
      const now = bench.clock.now()
      await keys.revoke(key.id, anAct(now))
      expect(await refusalOf(keys.amend(key.id, { name: 'x' }, anAct(now)))).toBe('key_revoked')
      expect(await refusalOf(keys.amend('key_none', { name: 'x' }, anAct(now)))).toBe(
        'key_not_found',
      )
    })
  })

  describe('a revocation', () => {
    test('takes effect at once; a request in progress is settled as any other', async () => {
      const { key, secret } = await bench.issue()
      const { claim } = await bench.admit(key, '0.01')
      const revokedAt = bench.clock.now()
      await bench.store.keys.revoke(key.id, anAct(revokedAt))
      expect((await bench.store.keys.findBySecret(secret, revokedAt))?.revokedAt).toBe(revokedAt)
      const { refusal } = await bench.admit(key)
      expect(refusal).toMatchObject({ code: 'key_revoked', used: 'revoked' })
      expect(await bench.settle(claim, '0.005')).toBe(true)
      const usage = await bench.store.admissions.usage(key.id, bench.clock.now())
      expect(usage).toMatchObject({ spendDay: usd('0.005'), requestsInProgress: 0, reserved: 0n })
    })

    test('changes nothing when it is repeated', async () => {
      const { key } = await bench.issue()
      const { keys } = bench.store
      const first = await keys.revoke(key.id, anAct(bench.clock.now()))
      bench.clock.advance(5_000)
      expect(await keys.revoke(key.id, anAct(bench.clock.now()))).toEqual(first)
      expect(await refusalOf(keys.revoke('key_none', anAct(bench.clock.now())))).toBe(
        'key_not_found',
      )
    })
  })

  describe('of an account', () => {
    test('a key that has left it meanwhile is not revoked, and nothing is noted', async () => {
      const { key } = await bench.issue()
      const { store, clock } = bench
      await store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const { after: moved } = await store.keys.move(key.id, 'acct_2', anAct(clock.now()))
      const revocation = anAct(clock.now())
      expect(await store.keys.revoke(key.id, revocation, 'acct_1')).toEqual(moved)
      expect(await store.keys.find(key.id)).toEqual(moved)
      const noted = async () =>
        (await store.acts.list({ limit: 9 })).some(({ id }) => id === revocation.id)
      expect(await noted()).toBe(false)
      expect((await store.keys.revoke(key.id, revocation, 'acct_2')).revokedAt).toBe(clock.now())
      expect(await noted()).toBe(true)
    })
  })

  test('the first key is the first ever: none is issued as that beside another, not even a revoked one', async () => {
    const { keys } = bench.store
    const now = bench.clock.now()
    const issueFirst = (key: ApiKey) => keys.issue(key, newSecret(), anAct(now), true)
    const first = aKey(now)
    await issueFirst(first)
    await keys.revoke(first.id, anAct(now))
    const second = aKey(now)
    expect(await refusalOf(issueFirst(second))).toBe('already_exists')
    expect(await keys.find(second.id)).toBeUndefined()
  })

  rotationContract(bench)

  describe('a list', () => {
    test('is newest first, in pages, with totals', async () => {
      const made: string[] = []
      for (let n = 0; n < 5; n++) {
        // Two of them within one millisecond: the order holds there too.
        if (n !== 2) bench.clock.advance(1)
        made.unshift((await bench.issue()).key.id)
      }
      const { keys } = bench.store
      const first = await keys.list({ includeRevoked: false, limit: 2 })
      expect(first.keys.map(({ id }) => id)).toEqual(made.slice(0, 2))
      expect(first).toMatchObject({ hasMore: true, totalCount: 5 })
      const after = first.keys[1]?.id ?? 'key_none'
      const second = await keys.list({ includeRevoked: false, limit: 3, after })
      expect(second.keys.map(({ id }) => id)).toEqual(made.slice(2))
      expect(second).toMatchObject({ hasMore: false, totalCount: 5 })
    })

    test('goes on from any id, and counts what was issued and revoked since it was last asked', async () => {
      const { keys, accounts } = bench.store
      await accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const [one, two, three] = [await bench.issue(), await bench.issue(), await bench.issue()]
      const read = async (after: KeyId, includeRevoked: boolean) => {
        const page = await keys.list({ accountId: 'acct_1', includeRevoked, limit: 10, after })
        return [page.keys.map(({ id }) => id), page.totalCount]
      }
      expect(await read(three.key.id, false)).toEqual([[two.key.id, one.key.id], 3])
      await keys.revoke(two.key.id, anAct(bench.clock.now()))
      await keys.revoke(two.key.id, anAct(bench.clock.now()))
      expect(await read(three.key.id, false)).toEqual([[one.key.id], 2])
      // Not even a page that follows a revoked key, or one that is not there, loses its place.
      expect(await read(two.key.id, true)).toEqual([[one.key.id], 3])
      expect(await read('key_zzzz', true)).toMatchObject([{ length: 3 }, 3])
      await bench.issue()
      await bench.issue({}, { accountId: 'acct_2' })
      const refused = aKey(bench.clock.now(), {}, { accountId: 'acct_none' })
      await keys.issue(refused, newSecret(), anAct()).catch(() => {})
      expect(await read(one.key.id, false)).toEqual([[], 3])
      expect((await keys.list({ includeRevoked: true, limit: 1 })).totalCount).toBe(5)
      expect(
        (await keys.list({ accountId: 'acct_2', includeRevoked: true, limit: 1 })).totalCount,
      ).toBe(1)
      await bench.restart()
      expect((await bench.store.keys.list({ includeRevoked: false, limit: 1 })).totalCount).toBe(4)
    })

    test('leaves the revoked out unless asked, and keeps accounts apart', async () => {
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const { key: kept } = await bench.issue()
      const { key: revoked } = await bench.issue()
      await bench.issue({}, { accountId: 'acct_2' })
      await bench.store.keys.revoke(revoked.id, anAct(bench.clock.now()))
      const count = async (accountId: 'acct_1' | 'acct_2' | undefined, includeRevoked: boolean) => {
        const scope = accountId ? { accountId } : {}
        const page = await bench.store.keys.list({ ...scope, includeRevoked, limit: 10 })
        expect(page.keys).toHaveLength(page.totalCount)
        return page.totalCount
      }
      expect(await count(undefined, true)).toBe(3)
      expect(await count(undefined, false)).toBe(2)
      expect(await count('acct_1', true)).toBe(2)
      expect(await count('acct_1', false)).toBe(1)
      expect(await count('acct_2', true)).toBe(1)
      const { keys } = bench.store
      const [only] = (await keys.list({ accountId: 'acct_1', includeRevoked: false, limit: 10 }))
        .keys
      expect(only?.id).toBe(kept.id)
    })

    test('is empty where there is nothing', async () => {
      const nothing = { keys: [], hasMore: false, totalCount: 0 }
      expect(await bench.store.keys.list({ includeRevoked: true, limit: 10 })).toEqual(nothing)
    })
  })

  describe('a search', () => {
    test('finds by id, by exact name and by the start of the label', async () => {
      const { key, secret } = await bench.issue({}, { name: 'billing bot' })
      await bench.issue({}, { name: 'billing' })
      const find = async (text: string) =>
        (await bench.store.keys.search(text, 10)).map(({ name }) => name)
      expect(await find(key.id)).toEqual(['billing bot'])
      expect(await find('billing bot')).toEqual(['billing bot'])
      expect(await find('billing')).toEqual(['billing'])
      expect(await find('bill')).toEqual([])
      expect(await find(secret.slice(0, 9))).toEqual(['billing bot'])
      expect(await find(key.label)).toEqual(['billing bot'])
    })

    test('is of one account where one is named, whatever others hold', async () => {
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const { key } = await bench.issue({}, { name: 'web' })
      const { key: other } = await bench.issue({}, { name: 'web', accountId: 'acct_2' })
      const find = async (text: string, accountId?: AccountId) =>
        (await bench.store.keys.search(text, 1, accountId)).map(({ id }) => id)
      expect(await bench.store.keys.search('web', 9)).toHaveLength(2)
      expect(await find('web', 'acct_1')).toEqual([key.id])
      expect(await find('web', 'acct_2')).toEqual([other.id])
      expect(await find(key.id, 'acct_2')).toEqual([])
      expect(await find(key.label, 'acct_2')).toEqual([])
    })

    test('T35: takes no wildcards: not %, not _, not nothing, not quotes', async () => {
      await bench.issue({}, { name: 'a' })
      await bench.issue({}, { name: '100%' })
      for (const text of ['%', '_', '', 'if-%', 'if-______', "' OR 1=1 --", 'a%', 'IF-', '*']) {
        expect(await bench.store.keys.search(text, 10), text).toEqual([])
      }
      expect(await bench.store.keys.search('100%', 10)).toHaveLength(1)
      expect(await bench.store.keys.search('if-', 10)).toHaveLength(2)
      expect(await bench.store.keys.search('if-', 1)).toHaveLength(1)
    })
  })

  test('a name is taken while a living key bears it, exactly', async () => {
    await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    const { key } = await bench.issue({}, { name: 'ci' })
    const isNamed = async () => {
      const { keys } = bench.store
      const accounts = [undefined, 'acct_1', 'acct_2'] as const
      return await Promise.all(accounts.map((account) => keys.isNamed('ci', account)))
    }
    expect(await isNamed()).toEqual([true, true, false])
    for (const name of ['CI', 'c', 'ci ', '%', '', key.id, key.label]) {
      expect([name, await bench.store.keys.isNamed(name)]).toEqual([name, false])
    }
    await bench.store.keys.revoke(key.id, anAct(bench.clock.now()))
    expect(await isNamed()).toEqual([false, false, false])
    await bench.issue({}, { name: 'ci', accountId: 'acct_2' })
    expect(await isNamed()).toEqual([true, false, true])
  })

  test('a key of an account that does not exist is refused whole', async () => {
    const secret = newSecret()
    const orphan = aKey(bench.clock.now(), {}, { accountId: 'acct_none' })
    await expect(bench.store.keys.issue(orphan, secret, anAct())).rejects.toThrow()
    expect(await bench.store.keys.findBySecret(secret, bench.clock.now())).toBeUndefined()
    expect(await bench.store.keys.find(orphan.id)).toBeUndefined()
  })
}
