// The mark moves by four facts alone: the balance, the threshold, the mark there was, and what moved.
import { describe, expect, test } from 'vitest'
import { DAY_MS, instant, later } from '#domain/clock.ts'
import { judgeLowBalance, type Mark, type Movement } from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { renderLowBalance } from '#domain/notice.ts'
import { newWebhookSecret } from '#domain/webhook-secret.ts'
import { rate, usd } from '#test/support/nouns.ts'

const now = instant(Date.parse('2026-08-22T12:00:00Z'))
const young: Mark = { notifiedAt: later(now, 1 - DAY_MS) }
const dayOld: Mark = { notifiedAt: later(now, -DAY_MS) }
const fresh: Mark = { notifiedAt: now }

describe('at a threshold of $20', () => {
  test.each<[string, Mark | null, Movement, Mark | null, boolean]>([
    // Below and unmarked: whatever moved, the owner is told.
    ['19.999999999', null, 'debit', fresh, true],
    ['-3', null, 'debit', fresh, true],
    ['19', null, 'threshold', fresh, true],
    // Below and marked: a debit alone tells again, and not within a day.
    ['19', young, 'debit', young, false],
    ['19', dayOld, 'debit', fresh, true],
    ['19', dayOld, 'credit', dayOld, false],
    ['19', dayOld, 'threshold', dayOld, false],
    // Equal is neither below nor above.
    ['20', null, 'debit', null, false],
    ['20', dayOld, 'debit', dayOld, false],
    ['20', dayOld, 'credit', dayOld, false],
    ['20', dayOld, 'threshold', dayOld, false],
    // Above: a debit cannot have lifted it there.
    ['20.000000001', young, 'credit', null, false],
    ['20.000000001', young, 'threshold', null, false],
    ['20.000000001', young, 'debit', young, false],
    ['20.000000001', null, 'debit', null, false],
  ])('a balance of %s, %j, moved by a %s', (balance, mark, movement, expected, notify) => {
    const verdict = judgeLowBalance(usd(balance), usd('20'), mark, movement, now)
    expect(verdict).toEqual({ mark: expected, notify })
  })

  test('a clock that is set back by at most a day causes no second notice, and by more delays none', () => {
    const notifies = (aheadMs: number) =>
      judgeLowBalance(usd('1'), usd('20'), { notifiedAt: later(now, aheadMs) }, 'debit', now)
    expect(notifies(DAY_MS)).toMatchObject({ notify: false })
    expect(notifies(DAY_MS + 1)).toEqual({ mark: { notifiedAt: now }, notify: true })
  })
})

test.each<Movement>(['debit', 'credit', 'threshold'])('without a threshold a %s unmarks', (one) => {
  const verdict = judgeLowBalance(usd('-9'), null, dayOld, one, now)
  expect(verdict).toEqual({ mark: null, notify: false })
})

describe('the body', () => {
  const render = (balance: string, rub: string, isTest?: true) =>
    renderLowBalance({
      eventId: 'evt_1',
      accountId: 'acct_1',
      at: now,
      balance: usd(balance),
      below: usd('20'),
      rubPerUsd: rate(rub),
      ...(isTest && { isTest }),
    })

  test('is the one the contract shows, to the letter', () => {
    expect(render('19.5', '92.5')).toBe(
      '{"type":"gateway.low_balance","id":"evt_1","timestamp":"2026-08-22T12:00:00Z",' +
        '"data":{"account_id":"acct_1","balance_usd":"19.50","balance_rub":1803.75,"threshold_usd":"20.00"}}',
    )
  })

  test('of a test says so, and only that', () => {
    const { test: isTest, ...rest } = JSON.parse(render('19.5', '92.5', true))
    expect(isTest).toBe(true)
    expect(JSON.stringify(rest)).toBe(render('19.5', '92.5'))
  })

  test.each([
    ['-0.5', '90', '-0.50', -45],
    ['-0.000000001', '90', '-0.000000001', 0],
    // Half a micro-ruble goes away from nothing on either side of it, as it does for a charge.
    ['0.000000001', '500', '0.000000001', 0.000001],
    ['-0.000000001', '500', '-0.000000001', -0.000001],
    ['-0.000000003', '500', '-0.000000003', -0.000002],
    ['-0.000000001', '499.999999', '-0.000000001', 0],
    ['-1234567.000000001', '92.5', '-1234567.000000001', -114197447.5],
  ])('of a balance of %s at %s', (balance, rub, balance_usd, balance_rub) => {
    const body = render(balance, rub)
    expect(JSON.parse(body).data).toMatchObject({ balance_usd, balance_rub })
    // JSON has a minus zero, and a receiver might wonder.
    expect(body).not.toMatch(/:-0[,}]/)
  })

  test('states the same rubles on either side of nothing', () => {
    for (const nanos of [1n, 7n, 999_999_999n, 5_000_000_001n]) {
      const [plus, minus] = [nanos, -nanos].map((amount) =>
        renderLowBalance({
          eventId: 'evt_1',
          accountId: 'acct_1',
          at: now,
          balance: amount as UsdNanos,
          below: usd('20'),
          rubPerUsd: rate('91.234567'),
        }),
      )
      const rubles = (body: string | undefined) => JSON.parse(body ?? '').data.balance_rub as number
      expect(rubles(minus) + rubles(plus)).toBe(0)
    }
  })
})

test('a webhook secret is what Standard Webhooks asks for, and never the same', () => {
  const secrets = Array.from({ length: 50 }, newWebhookSecret)
  expect(new Set(secrets).size).toBe(50)
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/)
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
  }
})
