/** `gatewayctl users disable`: signs a person out everywhere and blocks sign-in. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import { noteDone } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('disable')
    .description('sign a person out everywhere and block sign-in')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, text: string) => {
        const { email, sessions } = await call(context, 'users.show', {
          ...context.accountInput,
          person: text,
        })
        await confirm(context, {
          question: `disable ${clean(email)}? ${count(sessions, 'session')} and all tokens end`,
          act: `disable ${clean(email)}`,
        })
        const person = await call(context, 'users.disable', {
          ...context.accountInput,
          person: text,
        })
        noteDone(context, `disabled ${clean(email)}`)
        showPerson(context, person)
      }),
    )
