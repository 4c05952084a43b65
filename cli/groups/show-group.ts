/** Prints one group, for several commands. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { printRecord } from '../terminal/output.ts'

export const showGroup = (context: Context, group: VerbRecord<'groups.show'>): void =>
  printRecord(context, group, group.name, [
    ['group', group.name],
    ...group.people.map((email) => ['person', email] as const),
    ...group.clients.map((client) => ['may enter', client] as const),
  ])
