/** `gatewayctl models show`: one model and the price in force. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printModel } from './print-model.ts'

export const mount: Mount = (models) =>
  models
    .command('show')
    .description('show one model and the price in force')
    .argument('<model>', 'provider/model')
    .action(
      action(async (context, model: string) => {
        printModel(context, await call(context, 'models.show', { model }))
      }),
    )
