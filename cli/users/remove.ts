/** `gatewayctl users remove`: removes a person; the address may sign in again as a new one. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import { printDone } from '../terminal/output.ts'

export const mount: Mount = (users) =>
  users
    .command('remove')
    .description('remove a person; to block sign-in, disable them instead')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, text: string) => {
        const { email, sessions } = await call(context, 'users.show', {
          ...context.accountInput,
          person: text,
        })
        await confirm(context, {
          question: `remove ${clean(email)}? ${count(sessions, 'session')} end, and applications will see a new person`,
          act: `remove ${clean(email)}`,
        })
        const removed = await call(context, 'users.remove', {
          ...context.accountInput,
          person: text,
        })
        printDone(context, removed, removed.id, `removed ${clean(email)}`)
      }),
    )
