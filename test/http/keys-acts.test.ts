// The audit log records what a provisioning key changes, under that key’s id; reads and refused requests are not recorded.

import { beforeEach, describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { type KeyCounter, openKeyCounter } from './key-counter.ts'

let ownCli: KeyCounter

beforeEach(async () => {
  ownCli = await openKeyCounter()
})

/** Without those of furnishing the store, which are as old as time. */
const acts = () => ownCli.deps.store.acts.list({ limit: 99, since: instant(1) })

describe('keys over HTTP', () => {
  test('issuing a key is recorded with its limits, and without its secret', async () => {
    const minted = await ownCli.mint({ name: 'worker', rpm_limit: 60, allowed_models: ['demo/*'] })
    const [act, ...others] = await acts()
    expect(others).toEqual([])
    expect(act).toMatchObject({
      at: ownCli.clock.now(),
      who: ownCli.boss.key.id,
      verb: 'keys.create',
      target: minted.id,
    })
    expect(act?.changed).toEqual({
      kind: 'ordinary',
      label: minted.label,
      name: 'worker',
      rpm_limit: 60,
      allowed_models: ['demo/*'],
      disabled: false,
    })
    expect(JSON.stringify(act)).not.toContain(minted.key)
  })

  test('changing a key is recorded with old and new values; an edit that changes nothing is not', async () => {
    const { id } = await ownCli.mint({ name: 'worker', rpm_limit: 60 })
    await ownCli.ask('PATCH', `/v1/keys/${id}`, {
      rpm_limit: 120,
      daily_spend_limit_usd: '5.00',
      disabled: true,
    })
    expect((await acts())[0]).toMatchObject({
      who: ownCli.boss.key.id,
      verb: 'keys.edit',
      target: id,
    })
    expect((await acts())[0]?.changed).toEqual({
      rpm_limit: { from: 60, to: 120 },
      daily_spend_limit_usd: { from: null, to: '5.00' },
      disabled: { from: false, to: true },
    })
    await ownCli.ask('PATCH', `/v1/keys/${id}`, { rpm_limit: 120 })
    expect(await acts()).toHaveLength(2)
  })

  test('revoking a key is recorded once', async () => {
    const { id } = await ownCli.mint({ name: 'worker' })
    for (let i = 0; i < 3; i++) await ownCli.ask('DELETE', `/v1/keys/${id}`)
    expect((await acts()).map(({ verb, target }) => [verb, target])).toEqual([
      ['keys.revoke', id],
      ['keys.create', id],
    ])
  })

  test('reads and refused requests are not recorded', async () => {
    const { id } = await ownCli.mint({ name: 'worker' })
    const worker = await ownCli.issueIn(ownCli.deps.account)
    await ownCli.ask('GET', '/v1/keys')
    await ownCli.ask('GET', `/v1/keys/${id}`)
    await ownCli.ask('PATCH', `/v1/keys/${id}`, { rpm_limit: 0 })
    await ownCli.ask('PATCH', '/v1/keys/key_none', { rpm_limit: 1 })
    await ownCli.ask('DELETE', `/v1/keys/${ownCli.boss.key.id}`)
    await ownCli.ask('POST', '/v1/keys', { name: 'x' }, worker.bearer)
    expect(await acts()).toHaveLength(1)
  })
})
