/** `gatewayctl users add`: adds a person who may sign in, and an account that they own. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('add')
    .description('add a person who may sign in; --account: as an owner of it')
    .argument('<email>')
    .option('--name <name>', 'name given to applications')
    .action(
      action(async (context, email: string, flags: { readonly name?: string }) => {
        const { name } = flags
        const person = await call(context, 'users.add', {
          ...context.accountInput,
          email,
          name,
        })
        noteDone(context, `added ${clean(person.email)}`)
        showPerson(context, person)
      }),
    )
