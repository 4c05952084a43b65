/** Balance, ledger and rate through their verbs. */
import { describe, expect, test } from 'vitest'
import { act, openFurnished } from './deps.ts'

describe('top-up', () => {
  test('moves balance and ledger together, to the nano-dollar', async () => {
    const deps = await openFurnished()
    await act(deps, 'balance.top-up', { amount_usd: '0.1' })
    const record = await act(deps, 'balance.top-up', { amount_usd: '0.200000001' })
    expect(record).toMatchObject({ applied: true, balance_usd: '0.300000001', balance_rub: 27 })
    const entries = await act(deps, 'ledger.list', {})
    expect(entries.map(({ amount_usd }) => amount_usd)).toEqual(['0.200000001', '0.10'])
    expect((await deps.store.audit()).findings).toEqual([])
  })

  test('with a reference is applied once; another amount under it is refused', async () => {
    const deps = await openFurnished()
    const input = { amount_usd: '50', ref: 'inv-1' }
    const first = await act(deps, 'balance.top-up', input)
    const again = await act(deps, 'balance.top-up', input)
    expect(again).toMatchObject({ applied: false, balance_usd: '50.00', entry: first.entry })
    const other = act(deps, 'balance.top-up', { amount_usd: '51', ref: 'inv-1' })
    await expect(other).rejects.toMatchObject({ code: 'already_exists' })
    expect((await act(deps, 'balance.show', {})).balance_usd).toBe('50.00')
  })

  test('that comes twice at once tells both the balance that has it', async () => {
    const deps = await openFurnished()
    const input = { amount_usd: '50', ref: 'inv-1' }
    const both = await Promise.all([1, 2].map(() => act(deps, 'balance.top-up', input)))
    expect(both.map(({ applied }) => applied).toSorted()).toEqual([false, true])
    expect(both.map(({ balance_usd }) => balance_usd)).toEqual(['50.00', '50.00'])
  })

  test.each(['0', '-1', '1e3', '0.0000000001', '', 'ten', '99999999999'])(
    'refuses %j',
    async (amount) => {
      const deps = await openFurnished()
      await expect(act(deps, 'balance.top-up', { amount_usd: amount })).rejects.toMatchObject({
        code: 'invalid_request',
      })
      expect(await act(deps, 'ledger.list', {})).toEqual([])
    },
  )
})

test('the ledger is read by kind and time', async () => {
  const deps = await openFurnished()
  await act(deps, 'balance.top-up', { amount_usd: '1' })
  deps.clock.advance(60_000)
  await act(deps, 'balance.top-up', { amount_usd: '2' })
  const amounts = async (query: object) =>
    (await act(deps, 'ledger.list', query)).map(({ amount_usd }) => amount_usd)
  expect(await amounts({ since: '2026-08-23T12:00:30Z' })).toEqual(['2.00'])
  expect(await amounts({ until: '2026-08-23T12:00:30Z' })).toEqual(['1.00'])
  expect(await amounts({ kind: 'charge' })).toEqual([])
  expect(await amounts({ limit: 1 })).toEqual(['2.00'])
  await expect(amounts({ key: 'nobody' })).rejects.toMatchObject({ code: 'key_not_found' })
})

test('a rate serves from its date, and the default says that nobody set it', async () => {
  const deps = await openFurnished()
  expect(await act(deps, 'rates.show', {})).toMatchObject({
    rub_per_usd: '90',
    set_by_operator: false,
    effective_from: null,
  })
  const later = '2026-08-24T00:00:00Z'
  // Of a day that has begun.
  const begun = '2026-08-23T00:00:00Z'
  await act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd: '91', from: begun })
  expect((await act(deps, 'rates.show', {})).rub_per_usd).toBe('91')
  const before = '2026-08-22T00:00:00Z'
  const unheard = { pair: 'USD/RUB' as const, rub_per_usd: '100', from: before }
  await expect(act(deps, 'rates.set', unheard)).rejects.toMatchObject({
    details: { param: 'from' },
  })
  await act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd: '92.5' })
  await act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd: '95', from: later })
  expect(await act(deps, 'rates.show', {})).toMatchObject({
    rub_per_usd: '92.5',
    set_by_operator: true,
  })
  deps.clock.advance(86_400_000)
  expect((await act(deps, 'rates.show', {})).rub_per_usd).toBe('95')
  const price = { model: 'demo/echo', in_usd: '50', out_usd: '50' }
  await act(deps, 'models.price', { ...price, from: later })
  await expect(act(deps, 'models.price', { ...price, from: begun })).rejects.toMatchObject({
    details: { param: 'from' },
  })
  for (const rub_per_usd of ['0', '-1', '1.1234567', 'x']) {
    const set = act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd })
    await expect(set).rejects.toMatchObject({ code: 'invalid_request' })
  }
})
