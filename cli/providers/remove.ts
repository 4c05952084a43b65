/** `gatewayctl providers remove`: removes the account and its models; past charges stay. */
import { action, type Mount } from '../action.ts'
import { recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { printDone } from '../terminal/output.ts'

export const mount: Mount = (providers) =>
  providers
    .command('remove')
    .description('remove an upstream account and its models')
    .argument('<name>')
    .action(
      action(async (context, name: string) => {
        const { models, routed_models: routed } = await call(context, 'providers.show', { name })
        const others = routed === 0 ? '' : ` ${routed} models of other providers lose a hop.`
        await confirm(context, {
          question: `remove provider ${clean(name)} and its ${models} models?${others} ${await recentRequests(context, { provider: name })}`,
          act: `remove provider ${clean(name)}`,
        })
        const removed = await call(context, 'providers.remove', { name })
        printDone(
          context,
          removed,
          removed.name,
          `removed provider ${clean(name)} and ${removed.models} models`,
        )
      }),
    )
