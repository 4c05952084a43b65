/** What every engine promises about accounts. */
import { expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { anAccount, anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function accountsContract(bench: Bench): void {
  test('an account is found by id and by name, with its settled balance', async () => {
    const expected = anAccount({ balance: usd('100') })
    expect(await bench.store.accounts.find('acct_1')).toEqual(expected)
    expect(await bench.store.accounts.findByName('default')).toEqual(expected)
  })

  test('an unknown one is undefined', async () => {
    expect(await bench.store.accounts.find('acct_none')).toBeUndefined()
    expect(await bench.store.accounts.findByName('DEFAULT')).toBeUndefined()
  })

  test('they are listed oldest first', async () => {
    await bench.store.accounts.create(
      anAccount({ id: 'acct_3', name: 'c', createdAt: instant(3) }),
      anAct(),
    )
    await bench.store.accounts.create(
      anAccount({ id: 'acct_2', name: 'b', createdAt: instant(2) }),
      anAct(),
    )
    const ids = (await bench.store.accounts.list()).map(({ id }) => id)
    expect(ids).toEqual(['acct_1', 'acct_2', 'acct_3'])
  })

  test('a renamed one keeps its id and its balance, and its old name is free', async () => {
    const { accounts } = bench.store
    await accounts.create(anAccount({ id: 'acct_2', name: 'b' }), anAct())
    const before = anAccount({ id: 'acct_2', name: 'b' })
    const renamed = anAccount({ id: 'acct_2', name: 'c' })
    const rename = () => accounts.amend('acct_2', { name: 'c' }, anAct())
    expect(await rename()).toEqual({ before, after: renamed })
    expect(await rename()).toEqual({ before: renamed, after: renamed })
    expect(await accounts.findByName('c')).toEqual(renamed)
    expect(await accounts.findByName('b')).toBeUndefined()
    await expect(accounts.amend('acct_2', { name: 'default' }, anAct())).rejects.toMatchObject({
      code: 'already_exists',
    })
    await expect(accounts.amend('acct_none', { name: 'd' }, anAct())).rejects.toMatchObject({
      code: 'account_not_found',
    })
    expect(await accounts.find('acct_2')).toEqual(renamed)
  })

  test('what its members may spend is kept, and what changed is in the act', async () => {
    const { accounts, acts } = bench.store
    const allowed = anAccount({ balance: usd('100'), memberDaily: usd('2') })
    const { before, after } = await accounts.amend('acct_1', { memberDaily: usd('2') }, anAct())
    expect([before.memberDaily, after]).toEqual([null, allowed])
    expect(await accounts.find('acct_1')).toEqual(allowed)
    expect((await acts.list({ limit: 9 })).map(({ changed }) => changed)).toContainEqual(
      expect.objectContaining({ member_daily_usd: { from: null, to: '2.00' } }),
    )
    await expect(accounts.amend('acct_none', { memberDaily: null }, anAct())).rejects.toMatchObject(
      {
        code: 'account_not_found',
      },
    )
  })

  test('a name is taken once', async () => {
    await expect(
      bench.store.accounts.create(anAccount({ id: 'acct_2' }), anAct()),
    ).rejects.toMatchObject({
      code: 'already_exists',
    })
    expect(await bench.store.accounts.list()).toHaveLength(1)
  })
}
