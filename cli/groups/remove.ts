/** `gatewayctl groups remove`: takes people out of a group, from their next request on. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone } from '../terminal/output.ts'
import { showGroup } from './show-group.ts'

export const mount: Mount = (groups) =>
  groups
    .command('remove')
    .description(
      'take people out of a group; applications that it opens are closed to them at once',
    )
    .argument('<group>')
    .argument('<people...>', 'e-mail addresses or ids')
    .action(
      action(async (context, group: string, people: string[]) => {
        const { clients } = await call(context, 'groups.show', { group })
        const who = clean(people.join(' '))
        const loss = clients.length === 0 ? '' : ` It opens ${clean(clients.join(' '))}.`
        await confirm(context, {
          question: `take ${who} out of ${clean(group)}?${loss}`,
          act: `take ${who} out of ${clean(group)}`,
        })
        const record = await call(context, 'groups.remove', { group, people })
        noteDone(context, `took ${who} out of ${clean(group)}`)
        showGroup(context, record)
      }),
    )
