/** Liveness, readiness, and the events that the gateway sends (contract §9). */
import { z } from 'zod'
import { CAUSE_NAMES } from '#domain/cause.ts'
import type { NoticeType } from '#domain/notice.ts'
import { id, moment, oneOf, rub, text, usd } from './scalars.ts'

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

export const notice = z
  .object({
    type: z.enum(CAUSE_NAMES as [string, ...string[]]),
    id: id(
      'evt_',
      'The same at every delivery attempt; ignore an id that you have already processed',
    ),
    timestamp: moment('When it was raised'),
    data: z
      .looseObject({
        severity: oneOf('', {
          info: 'trouble that is over',
          warning: 'look at it by day',
          critical: 'requests fail, or soon will',
        }),
        message: text('One sentence'),
        hint: text('What ends it, or what to type next'),
      })
      .describe('Also the facts of its type'),
    test: z.literal(true).exactOptional().describe('Set in a test that an operator sent'),
  })
  .describe('What the operator of the gateway is told of')

export const digest = z
  .object({
    type: z.literal('gateway.digest' satisfies NoticeType),
    id: id('evt_', 'Its own'),
    timestamp: moment('When it was sent'),
    data: z.object({
      severity: z.string().describe('The worst of them'),
      message: text('How many they are'),
      hint: text('What to type next'),
      notices: z.array(notice).describe('Each as it would have been sent alone, the oldest first'),
    }),
  })
  .describe('Several notices that were held back, for quiet hours or a daily digest')
