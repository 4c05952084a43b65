/** `gatewayctl notices seen`: marks notices as seen, so that the dashboard's bell is quiet. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { count } from '../terminal/count.ts'
import { print, printJson } from '../terminal/output.ts'

export const mount: Mount = (notices) =>
  notices
    .command('seen')
    .description('mark notices as seen')
    .argument('[event]', 'up to this one: evt_…; default: all')
    .action(
      action(async (context, event: string | undefined) => {
        const record = await call(context, 'notices.seen', { event: event ?? null })
        if (context.json) return printJson(record)
        print(
          context.quiet ? String(record.seen) : `${count(record.seen, 'notice')} marked as seen`,
        )
      }),
    )
