/** `gatewayctl accounts members`: who belongs to an account, and in which role. */
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { ROLES } from '#signin/register/membership.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import {
  type Column,
  noteDone,
  print,
  printJson,
  printList,
  printNote,
} from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

interface Flags {
  readonly role?: string
  readonly name?: string
}

const ACTS = ['list', 'add', 'set-role', 'remove'] as const

export const mount: Mount = (accounts) =>
  accounts
    .command('members')
    .description("list, add or remove an account's people, or change a role")
    .argument('<act>', ACTS.join(', '))
    .argument('<account>', 'name or id')
    .argument('[person]', 'e-mail address, or id of a member')
    .option('--role <role>', `${ROLES.join(', ')}: needed by add and set-role`)
    .option('--name <name>', 'name of somebody new, given to applications')
    .action(
      action(
        async (
          context,
          word: string,
          account: string,
          person: string | undefined,
          flags: Flags,
        ) => {
          const act = readChoice('the action', word, ACTS)
          checkFlags(act, flags)
          if (act === 'list') {
            if (person !== undefined) throw usageError('list takes an account alone')
            return printMembers(context, account)
          }
          if (person === undefined) {
            throw usageError(
              `${act} needs a person`,
              `gatewayctl accounts members ${act} ${shellWord(account)} EMAIL`,
            )
          }
          await ACTIONS[act](context, { account, person }, flags)
        },
      ),
    )

/** Where the grammar has flags that an action does not read, they are refused. */
function checkFlags(act: (typeof ACTS)[number], { role, name }: Flags): void {
  const takesRole = act === 'add' || act === 'set-role'
  if (role !== undefined && !takesRole) throw usageError(`${act} takes no --role`)
  if (role === undefined && takesRole) throw usageError(`${act} needs --role ${ROLES.join('|')}`)
  if (name !== undefined && act !== 'add') throw usageError(`${act} takes no --name`)
}

interface Named {
  readonly account: string
  readonly person: string
}

type Act = (context: Context, named: Named, flags: Flags) => Promise<void>

const readRole = ({ role = '' }: Flags) => readChoice('--role', role, ROLES)

const ACTIONS: Readonly<Record<Exclude<(typeof ACTS)[number], 'list'>, Act>> = {
  async add(context, { account, person: email }, flags) {
    const member = await call(context, 'accounts.members.add', {
      account,
      email,
      role: readRole(flags),
      name: flags.name,
    })
    if (context.json) return printJson(member)
    const before = member.previous_role === null ? '' : ` (was ${member.previous_role})`
    noteDone(
      context,
      `${clean(member.email)} is ${member.role} of ${clean(member.account)}${before}`,
    )
    print(member.id)
    const { cabinet_url: url, last_sign_in_at: signedIn, mailed } = member
    const where = url === null ? 'where to sign in' : `to sign in at ${url}`
    if (mailed) printNote(context, `a mail to them is on its way; they sign in at ${url}`)
    else if (signedIn === null) printNote(context, `no mail is sent: tell them ${where}`)
    else printNote(context, 'no mail is sent to somebody who has signed in before')
  },
  async 'set-role'(context, named, flags) {
    const member = await call(context, 'accounts.members.set-role', {
      ...named,
      role: readRole(flags),
    })
    if (context.json) return printJson(member)
    if (context.quiet) return print(member.id)
    const { email, account, role, previous_role } = member
    noteDone(context, `${clean(email)} is ${role} of ${clean(account)} (was ${previous_role})`)
  },
  async remove(context, named) {
    const question = `remove ${clean(named.person)} from ${clean(named.account)}, or withdraw their invitation? Keys stay`
    await confirm(context, { question, act: `remove ${clean(named.person)}` })
    const member = await call(context, 'accounts.members.remove', named)
    if (context.json) return printJson(member)
    if (context.quiet) return print(member.id)
    const [email, account] = [clean(member.email), clean(member.account)]
    const done =
      member.pending === null
        ? `removed ${email} from ${account}; their keys stay`
        : `withdrew the invitation of ${email} to ${account}`
    noteDone(context, done)
  },
}

async function printMembers(context: Context, account: string): Promise<void> {
  const rows = await call(context, 'accounts.members.list', { account })
  printList(context, rows, columns(context), ({ id }) => id)
}

type Row = VerbRecord<'accounts.members.list'>[number]

const columns = ({ clock }: Context): readonly Column<Row>[] => [
  { title: 'email', full: ({ email }) => email },
  { title: 'id', isId: true, dropOrder: 1, full: ({ id }) => id },
  { title: 'role', full: ({ role }) => role },
  { title: 'state', full: stateOf },
  {
    title: 'last sign-in',
    full: ({ last_sign_in_at }) => last_sign_in_at,
    short: ({ last_sign_in_at }) => last_sign_in_at && relativeTime(last_sign_in_at, clock.now()),
  },
]

const stateOf = ({ disabled, pending }: Row): string =>
  pending === null ? (disabled ? 'disabled' : 'enabled') : 'invited'
