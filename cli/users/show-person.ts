/** Prints one person, for several commands. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { printRecord } from '../terminal/output.ts'

export const showPerson = (context: Context, person: VerbRecord<'users.show'>): void =>
  printRecord(context, person, person.id, [
    ['email', `${person.email}${person.email_verified ? '' : ' (not verified)'}`],
    ['id', person.id],
    ['name', person.name],
    ...person.accounts.map(({ account, role }) => ['account', `${account} (${role})`] as const),
    ...(person.language === null ? [] : [['language', person.language] as const]),
    ['state', person.disabled ? `disabled since ${person.disabled_at}` : 'enabled'],
    ['sessions', person.sessions],
    ...person.identities.map(
      ({ provider, name, subject }) => ['identity', `${provider}: ${name ?? subject}`] as const,
    ),
    ...person.passkeys.map(({ id, name }) => ['passkey', `${name} (${id})`] as const),
    ...(person.groups.length === 0 ? [] : [['groups', person.groups.join(' ')] as const]),
    ['last sign-in', person.last_sign_in_at],
    ['created', person.created_at],
  ])
