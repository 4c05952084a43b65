/** The audit through its verb: what was added up, and each difference in words that name whose it is. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { AuditFinding } from '#domain/audit.ts'
import { dayOf } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { render } from '#operator/audit.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

let deps: TestOperatorDeps
let key: ApiKey

beforeEach(async () => {
  deps = await openFurnished()
  await act(deps, 'balance.top-up', { amount_usd: '10' })
  key = (await deps.store.keys.search('default', 1))[0] as ApiKey
})

test('a clean one counts what it added up', async () => {
  const { store, clock } = deps
  const { version: catalogue } = store.catalogue.current()
  const claim = { ...aClaim(key, clock.now()), endUser: 'ann', catalogue }
  await admitClaim(store.admissions, claim)
  const charge = aCharge(usd('0.5'))
  const activity = anActivity(claim, { endUser: 'ann', cost: charge.amount })
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge,
    activity,
  })
  expect((await act(deps, 'doctor', {})).problems).toBe(0)
  await admitClaim(store.admissions, { ...aClaim(key, clock.now()), catalogue })
  expect(await act(deps, 'audit', {})).toEqual({
    clean: true,
    at: '2026-08-23T12:00:00Z',
    entries: 2,
    accounts: 1,
    key_days: 1,
    end_user_days: 1,
    open_holds: 1,
    findings: [],
    found: 0,
    beyond_hold: 0,
    latest_beyond_hold: [],
  })
})

/** A gateway whose audit has found this. */
const finding = (...findings: readonly AuditFinding[]): TestOperatorDeps => ({
  ...deps,
  store: {
    ...deps.store,
    audit: async () => ({ ...(await deps.store.audit()), findings, found: findings.length }),
  },
})

describe('a difference', () => {
  const day = dayOf(Date.parse('2026-08-23T00:00:00Z') as never)

  test('names its key, also one that was revoked, and its account', async () => {
    await act(deps, 'keys.revoke', { key: 'default' })
    const sums = { kept: usd('0.75'), ledger: usd('0.5') }
    const found = finding(
      { what: 'balance', subject: key.accountId, day: null, endUser: null, ...sums },
      { what: 'key_day', subject: key.id, day, endUser: null, ...sums },
    )
    const { clean, findings } = await act(found, 'audit', {})
    expect(clean).toBe(false)
    expect(findings).toEqual([
      {
        what: 'balance',
        id: key.accountId,
        day: null,
        user: null,
        kept_usd: '0.75',
        ledger_usd: '0.50',
        difference_usd: '0.25',
        message:
          'account default: the balance is $0.75, but the ledger adds up to $0.50 (difference $0.25)',
      },
      {
        what: 'key_day',
        id: key.id,
        day: '2026-08-23',
        user: null,
        kept_usd: '0.75',
        ledger_usd: '0.50',
        difference_usd: '0.25',
        message:
          'key default on 2026-08-23: $0.75 is recorded, but the ledger adds up to $0.50 (difference $0.25)',
      },
    ])
  })

  test.each<[AuditFinding, string]>([
    [
      {
        what: 'end_user_day',
        subject: 'key_1',
        day,
        endUser: 'ann',
        kept: 0n as never,
        ledger: usd('1'),
      },
      'end user ann of key k on 2026-08-23: $0 is recorded, but the ledger adds up to $1.00 (difference -$1.00)',
    ],
    [
      {
        what: 'end_user_day',
        subject: 'key_1',
        day,
        endUser: '',
        kept: usd('1'),
        ledger: usd('2'),
      },
      'the end users counted together of key k on 2026-08-23: $1.00 is recorded',
    ],
    [
      {
        what: 'engine',
        engine: 'live_key_month',
        subject: 'key_1',
        message: 'in 2026-08 the running gateway has $1.00',
        sum: { day, kept: usd('1'), ledger: usd('2') },
      },
      'key k: in 2026-08 the running gateway has $1.00',
    ],
    [
      { what: 'requests', subject: 'key_1', day, endUser: null, requests: 1, charges: 2 },
      'key k on 2026-08-23: 1 requests counted, but 2 were charged',
    ],
    [{ what: 'hold', subject: 'gen-1' }, 'the hold of gen-1 is recorded, but it was charged'],
    [
      { what: 'engine', engine: 'hold', subject: 'key_1', message: 'they differ', sum: null },
      'key k: they differ',
    ],
  ])('%# is told in words', (found, words) => {
    expect(render(found, 'key k').message).toContain(words)
  })

  test('that is no balance is a problem of its own to the doctor', async () => {
    const sums = { kept: usd('0.75'), ledger: usd('0.5') }
    const report = await act(
      finding({ what: 'key_day', subject: key.id, day, endUser: null, ...sums }),
      'doctor',
      {},
    )
    expect(report.findings).toContainEqual({
      check: 'ledger',
      level: 'problem',
      message: '1 other sums do not match the ledger',
      next: 'gatewayctl audit',
    })
  })
})
