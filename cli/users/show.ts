/** `gatewayctl users show`: one person. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('show')
    .description('show one person')
    .argument('<person>', 'e-mail address or id')
    .action(
      action(async (context, person: string) => {
        showPerson(context, await call(context, 'users.show', { ...context.accountInput, person }))
      }),
    )
