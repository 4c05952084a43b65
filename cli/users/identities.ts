/** `gatewayctl users identities remove`: somebody signs in by a third party no more. */
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
    .description('let somebody sign in by a third party no more: identities remove <person> <name>')
    .argument('<act>', 'remove')
    .argument('<person>', 'e-mail address or id')
    .argument('<name>', 'as `identities list` has it')
    .action(
      action(async (context, act: string, text: string, provider: string) => {
        if (act !== 'remove') {
          throw usageError(
            `identities can be removed (got "${act}")`,
            'gatewayctl users identities remove EMAIL NAME',
          )
        }
        const { email, sessions } = await call(context, 'users.show', { person: text })
        await confirm(context, {
          question: `let ${clean(email)} sign in by ${clean(provider)} no more?`,
          act: `unlink ${clean(provider)} from ${clean(email)}`,
        })
        const person = await call(context, 'users.identities.remove', { person: text, provider })
        printNote(
          context,
          `${paint(context, 'green', '✓')} ${clean(email)} signs in by ${person.unlinked} no more`,
        )
        showPerson(context, person)
        if (sessions > 0)
          printNote(context, `next: gatewayctl users sessions revoke ${clean(email)}`)
      }),
    )
