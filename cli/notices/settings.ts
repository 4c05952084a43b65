/** `gatewayctl notices settings`: where and when the gateway's operator is told. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'
import { settingFields } from './setting-fields.ts'

export const mount: Mount = (notices) =>
  notices
    .command('settings')
    .description("show where and when the gateway's operator is told")
    .action(
      action(async (context) => {
        const record = await call(context, 'notices.settings', {})
        const addresses = [record.email, record.webhook_url].filter((one) => one !== null)
        printRecord(context, record, addresses.join(' '), settingFields(record))
      }),
    )
