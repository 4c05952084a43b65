/** `gatewayctl users edit`: changes the name or the address of a person. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

interface Flags {
  readonly name?: string
  readonly email?: string
}

export const mount: Mount = (users) =>
  users
    .command('edit')
    .description('change the name or the address; applications know the person as before')
    .argument('<person>', 'e-mail address or id')
    .option('--name <name>', 'name given to applications')
    .option('--email <email>', 'new address; it is verified at the next sign-in')
    .action(
      action(async (context, person: string, { name, email }: Flags) => {
        if (name === undefined && email === undefined) {
          throw usageError(
            'no change given',
            `gatewayctl users edit ${shellWord(person)} --name NAME`,
          )
        }
        const edited = await call(context, 'users.edit', {
          ...context.accountInput,
          person,
          name,
          email,
        })
        noteDone(context, `changed ${clean(edited.email)}`)
        showPerson(context, edited)
      }),
    )
