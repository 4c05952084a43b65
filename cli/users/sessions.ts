/** `gatewayctl users sessions revoke`: signs somebody out everywhere. */
import { action, type Mount } from '../action.ts'
import { clean } from '../clean.ts'
import { usageError } from '../exit.ts'
import { call } from '../operator.ts'
import { paint, print, printJson, tell } from '../output.ts'

export const mount: Mount = (users) =>
  users
    .command('sessions')
    .description('sign somebody out everywhere: sessions revoke <person>')
    .argument('<act>', 'revoke')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, act: string, text: string) => {
        if (act !== 'revoke') {
          throw usageError(
            `sessions can be revoked (got "${act}")`,
            'gatewayctl users sessions revoke EMAIL',
          )
        }
        const person = await call(context, 'users.sessions.revoke', { person: text })
        if (context.json) return printJson(person)
        if (context.quiet) return print(person.id)
        const ended = `${person.ended_sessions} ${person.ended_sessions === 1 ? 'session' : 'sessions'}`
        tell(
          context,
          `${paint(context, 'green', '✓')} signed ${clean(person.email)} out of ${ended}`,
        )
      }),
    )
