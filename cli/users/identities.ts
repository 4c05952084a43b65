/** `gatewayctl users identities`: links what a person is at a third party, or unlinks it. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone, paint, printNote } from '../terminal/output.ts'
import { showPerson } from './show-person.ts'

export const mount: Mount = (users) =>
  users
    .command('identities')
    .description('link an external identity to a person, or unlink it')
    .argument('<act>', 'add, remove')
    .argument('<person>', 'e-mail address or id')
    .argument('<name>', 'as `identities list` has it')
    .argument('[subject]', 'of add: the permanent identifier of the person there (`sub`)')
    .action(
      action(
        async (context, act: string, text: string, name: string, subject: string | undefined) => {
          if (act === 'add' && subject !== undefined) return await add(context, text, name, subject)
          if (act === 'remove' && subject === undefined) return await remove(context, text, name)
          throw usageError(
            `the actions are add with a subject, and remove (got "${act}")`,
            'gatewayctl users identities remove EMAIL NAME',
          )
        },
      ),
    )

async function add(context: Context, text: string, provider: string, subject: string) {
  const named = { ...context.accountInput, person: text, provider, subject }
  const person = await call(context, 'users.identities.add', named)
  const done = paint(context, 'green', '✓')
  printNote(context, `${done} linked ${person.linked} to ${clean(person.email)}`)
  showPerson(context, person)
}

async function remove(context: Context, text: string, provider: string): Promise<void> {
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
  noteDone(context, `unlinked ${person.unlinked} from ${clean(email)}`)
  showPerson(context, person)
  if (sessions > 0) printNote(context, `next: gatewayctl users sessions revoke ${clean(email)}`)
}
