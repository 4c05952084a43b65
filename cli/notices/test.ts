/** `gatewayctl notices test`: sends a notice marked as a test, and waits for it; exit 6 when it fails. */
import { CHANNELS } from '#domain/notice.ts'
import { action, type Mount } from '../action.ts'
import { showTest } from '../deliveries/show-test.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'

export const mount: Mount = (notices) =>
  notices
    .command('test')
    .description('send a test notice and wait for it, quiet hours or not; exit 6 when it fails')
    .argument('[channel]', 'email or webhook; default: every one that is set')
    .action(
      action(async (context, stated: string | undefined) => {
        const channel = stated === undefined ? null : readChoice('the channel', stated, CHANNELS)
        const where = await call(context, 'notices.settings', {})
        await showTest(context, await call(context, 'notices.test', { channel }), where)
      }),
    )
