/** `gatewayctl thresholds test`: sends a notice marked as a test, and waits for it; exit 6 when it fails. */
import { CHANNELS } from '#domain/notice.ts'
import { action, type Mount } from '../action.ts'
import { showTest } from '../deliveries/show-test.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'

export const mount: Mount = (thresholds) =>
  thresholds
    .command('test')
    .description('send a test notice and wait for it; exit 6 when it fails')
    .argument('[channel]', 'email or webhook; default: every one that is set')
    .action(
      action(async (context, stated: string | undefined) => {
        const channel = stated === undefined ? null : readChoice('the channel', stated, CHANNELS)
        const { accountInput } = context
        const where = await call(context, 'thresholds.show', accountInput)
        const sent = await call(context, 'thresholds.test', { ...accountInput, channel })
        await showTest(context, sent, where)
      }),
    )
