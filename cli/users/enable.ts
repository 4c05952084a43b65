/** `gatewayctl users enable`: allows a person to sign in again. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('enable')
    .description('allow a person to sign in again')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, text: string) => {
        const person = await call(context, 'users.enable', {
          ...context.accountInput,
          person: text,
        })
        noteDone(context, `enabled ${clean(person.email)}`)
        showPerson(context, person)
      }),
    )
