/** `gatewayctl users sessions`: where a person is signed in; ends one of them, or all. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import {
  type Column,
  noteDone,
  print,
  printDone,
  printJson,
  printList,
} from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

export const mount: Mount = (users) =>
  users
    .command('sessions')
    .description('list where a person is signed in, end one session, or sign out everywhere')
    .argument('<act>', 'list, end, revoke')
    .argument('<person>', 'e-mail address or id')
    .argument('[session]', 'of end: as the list has it')
    .action(
      action(async (context, act: string, person: string, session: string | undefined) => {
        if (act === 'list' && session === undefined) return await list(context, person)
        if (act === 'end' && session !== undefined) return await end(context, person, session)
        if (act === 'revoke' && session === undefined) return await revoke(context, person)
        throw usageError(
          `the actions are list, end with a session, and revoke (got "${act}")`,
          'gatewayctl users sessions revoke EMAIL',
        )
      }),
    )

async function list(context: Context, person: string): Promise<void> {
  const rows = await call(context, 'users.sessions.list', { ...context.accountInput, person })
  printList(context, rows, columns(context), ({ id }) => id)
}

type Row = VerbRecord<'users.sessions.list'>[number]

const columns = ({ clock }: Context): readonly Column<Row>[] => [
  { title: 'session', full: ({ id }) => id },
  { title: 'address', full: ({ address }) => address },
  { title: 'browser', dropOrder: 1, full: ({ browser }) => browser },
  {
    title: 'began',
    full: ({ began_at }) => began_at,
    short: ({ began_at }) => relativeTime(began_at, clock.now()),
  },
  {
    title: 'seen',
    full: ({ seen_at }) => seen_at,
    short: ({ seen_at }) => seen_at && relativeTime(seen_at, clock.now()),
  },
]

async function end(context: Context, person: string, session: string): Promise<void> {
  const ended = await call(context, 'users.sessions.end', {
    ...context.accountInput,
    person,
    session,
  })
  printDone(context, ended, ended.id, `ended a session of ${clean(ended.person)}`)
}

async function revoke(context: Context, text: string): Promise<void> {
  const named = { ...context.accountInput, person: text }
  const { email, sessions } = await call(context, 'users.show', named)
  await confirm(context, {
    question: `sign ${clean(email)} out everywhere? ${count(sessions, 'session')} and all tokens end`,
    act: `sign ${clean(email)} out`,
  })
  const person = await call(context, 'users.sessions.revoke', named)
  if (context.json) return printJson(person)
  if (context.quiet) return print(person.id)
  const ended = count(person.ended_sessions, 'session')
  noteDone(context, `signed ${clean(email)} out of ${ended}`)
}
