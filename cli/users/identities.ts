/** `gatewayctl users identities remove`: unlinks an external identity from a person. */
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { paint, printNote } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('identities')
    .description('unlink an external identity from a person: identities remove <person> <name>')
    .argument('<act>', 'remove')
    .argument('<person>', 'e-mail address or id')
    .argument('<name>', 'as `identities list` has it')
    .action(
      action(async (context, act: string, text: string, provider: string) => {
        if (act !== 'remove') {
          throw usageError(
            `the only action is remove (got "${act}")`,
            'gatewayctl users identities remove EMAIL NAME',
          )
        }
        const { email, sessions } = await call(context, 'users.show', {
          ...context.accountInput,
          person: text,
        })
        await confirm(context, {
          question: `unlink ${clean(provider)} from ${clean(email)}? They can no longer sign in with it`,
          act: `unlink ${clean(provider)} from ${clean(email)}`,
        })
        const person = await call(context, 'users.identities.remove', {
          ...context.accountInput,
          person: text,
          provider,
        })
        printNote(
          context,
          `${paint(context, 'green', '✓')} unlinked ${person.unlinked} from ${clean(email)}`,
        )
        showPerson(context, person)
        if (sessions > 0)
          printNote(context, `next: gatewayctl users sessions revoke ${clean(email)}`)
      }),
    )
