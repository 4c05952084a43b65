/** `gatewayctl models remove`: removes a model; past charges stay. */
import { action, type Mount } from '../action.ts'
import { recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { printDone } from '../terminal/output.ts'

export const mount: Mount = (models) =>
  models
    .command('remove')
    .description('remove a model, its route and its prices; past charges stay')
    .argument('<model>', 'provider/model')
    .action(
      action(async (context, text: string) => {
        const { id: model } = await call(context, 'models.show', { model: text })
        await confirm(context, {
          question: `remove model ${clean(model)}? ${await recentRequests(context, { model })}; further requests are refused`,
          act: `remove model ${clean(model)}`,
        })
        const removed = await call(context, 'models.remove', { model })
        printDone(context, removed, removed.id, `removed model ${clean(model)}`)
      }),
    )
