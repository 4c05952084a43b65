/** `gatewayctl clients rotate-signing-key`: ID tokens are signed with a new key from now on. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (clients) =>
  clients
    .command('rotate-signing-key')
    .description('sign ID tokens with a new key; those signed with old keys stay verifiable')
    .action(
      action(async (context) => {
        const rotated = await call(context, 'clients.rotate-signing-key', {})
        if (context.json) return printJson(rotated)
        noteDone(context, 'ID tokens are signed with a new key')
        print(rotated.key_id)
        printNote(context, `old keys still published: ${rotated.kept.join(', ') || 'none'}`)
      }),
    )
