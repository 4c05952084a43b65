/** `gatewayctl users sessions revoke`: signs a person out everywhere. */
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (users) =>
  users
    .command('sessions')
    .description('sign a person out everywhere: sessions revoke <person>')
    .argument('<act>', 'revoke')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, act: string, text: string) => {
        if (act !== 'revoke') {
          throw usageError(
            `the only action is revoke (got "${act}")`,
            'gatewayctl users sessions revoke EMAIL',
          )
        }
        const { email, sessions } = await call(context, 'users.show', {
          ...context.accountInput,
          person: text,
        })
        await confirm(context, {
          question: `sign ${clean(email)} out everywhere? ${count(sessions, 'session')} and all tokens end`,
          act: `sign ${clean(email)} out`,
        })
        const person = await call(context, 'users.sessions.revoke', {
          ...context.accountInput,
          person: text,
        })
        if (context.json) return printJson(person)
        if (context.quiet) return print(person.id)
        const ended = count(person.ended_sessions, 'session')
        printNote(context, `${paint(context, 'green', '✓')} signed ${clean(email)} out of ${ended}`)
      }),
    )
