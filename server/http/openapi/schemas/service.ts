/** What the process says of itself, and the one event that it sends of its own accord (contract §9). */
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
    .describe('Ready when every one of them is true'),
})

export const lowBalance = z
  .object({
    type: z.literal('gateway.low_balance' satisfies NoticeType),
    id: id('evt_', 'The same at every try: drop what you have seen'),
    timestamp: moment('When the balance fell'),
    data: z.object({
      account_id: id('acct_', 'Whose'),
      balance_usd: usd('What is left'),
      balance_rub: rub('The same'),
      threshold_usd: usd('What it fell below'),
    }),
    test: z.literal(true).exactOptional().describe('An operator tries it out'),
  })
  .describe(
    "An account's balance fell below its threshold. At most once a day; a top-up above it resets the mark.",
  )
