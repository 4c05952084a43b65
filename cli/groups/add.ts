/** `gatewayctl groups add`: puts people into a group, from their next request on. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { count } from '../terminal/count.ts'
import { noteDone } from '../terminal/output.ts'
import { showGroup } from './show-group.ts'

export const mount: Mount = (groups) =>
  groups
    .command('add')
    .description('put people into a group; an address that is not known yet may then sign in')
    .argument('<group>', 'a name such as staff; it is made by its first person')
    .argument('<people...>', 'e-mail addresses')
    .action(
      action(async (context, group: string, people: string[]) => {
        const record = await call(context, 'groups.add', { group, people })
        noteDone(context, `${group} has ${count(record.people.length, 'person', 'people')}`)
        showGroup(context, record)
      }),
    )
