/** `gatewayctl identities remove`: removes an identity provider. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { printDone } from '../terminal/output.ts'
import { withRedirect } from './show-provider.ts'

export const mount: Mount = (identities) =>
  identities
    .command('remove')
    .description('remove an identity provider; people sign in by e-mail or another one')
    .argument('<name>')
    .action(
      action(async (context, name: string) => {
        const { label, people } = await call(context, 'identities.show', { name })
        const whom = `${people} ${people === 1 ? 'person signs' : 'people sign'} in with it`
        await confirm(context, {
          question: `remove identity provider ${clean(label)}? ${whom}`,
          act: `remove identity provider ${clean(name)}`,
        })
        const removed = withRedirect(context, await call(context, 'identities.remove', { name }))
        printDone(context, removed, removed.name, `removed identity provider ${clean(name)}`)
      }),
    )
