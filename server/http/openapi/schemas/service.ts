/** Liveness, readiness, and the one event that the gateway sends (contract §9). */
import { z } from 'zod'
import type { NoticeType } from '#domain/notice.ts'
import { id, moment, rub, usd } from './scalars.ts'

export const alive = z.object({ status: z.literal('ok') })

export const readiness = z.object({
  status: z.enum(['ok', 'unavailable']),
  checks: z
    .object({
      store_writable: z.boolean(),
      schema_current: z.boolean(),
      accepting_requests: z.boolean(),
    })
    .describe('Ready if all of them are true'),
})

export const lowBalance = z
  .object({
    type: z.literal('gateway.low_balance' satisfies NoticeType),
    id: id(
      'evt_',
      'The same at every delivery attempt; ignore an id that you have already processed',
    ),
    timestamp: moment('When the balance fell'),
    data: z.object({
      account_id: id('acct_', 'The account'),
      balance_usd: usd('The balance'),
      balance_rub: rub('The balance'),
      threshold_usd: usd('The threshold'),
    }),
    test: z.literal(true).exactOptional().describe('Set in a test that an operator sent'),
  })
  .describe(
    "An account's balance fell below its threshold. Sent at most once a day until a top-up brings the balance above it.",
  )
