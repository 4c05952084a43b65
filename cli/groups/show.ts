/** `gatewayctl groups show`: who belongs to a group, and which applications it opens. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { showGroup } from './show-group.ts'

export const mount: Mount = (groups) =>
  groups
    .command('show')
    .description('show who belongs to a group, and which applications it opens')
    .argument('<group>')
    .action(
      action(async (context, group: string) => {
        showGroup(context, await call(context, 'groups.show', { group }))
      }),
    )
