/** `gatewayctl thresholds show`: the low-balance threshold of an account, and where its notice goes. */
import { dollars } from '#domain/money.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'
import { thresholdFields } from './threshold-fields.ts'

export const mount: Mount = (thresholds) =>
  thresholds
    .command('show')
    .description('show the low-balance threshold and where its notice goes')
    .action(
      action(async (context) => {
        const record = await call(context, 'thresholds.show', context.accountInput)
        printRecord(context, record, record.threshold_usd ?? '', [
          ['account', record.account],
          ['balance', dollars(record.balance_usd)],
          ...thresholdFields(context, record),
        ])
      }),
    )
