/** `gatewayctl init`: the data directory, an account, the demo provider and a first key; repeating it changes nothing. */
import { join } from 'node:path'
import { action, type Mount } from './action.ts'
import { clean } from './clean.ts'
import { call } from './operator.ts'
import { paint, print, printJson, tell } from './output.ts'
import { readMoney } from './read-value.ts'

interface Flags {
  readonly demo: boolean
  readonly demoCredit?: string
  readonly name?: string
}

export const mount: Mount = (root) =>
  root
    .command('init')
    .description('create the data directory, a demo provider and a first key')
    .option('--no-demo', 'without the built-in demo provider')
    .option('--demo-credit <amount>', 'put dollars into the new balance')
    .option('--name <name>', 'name of the first key')
    .action(
      action(async (context, flags: Flags) => {
        const input = {
          demo: flags.demo,
          ...(flags.name === undefined ? {} : { key_name: flags.name }),
          ...(flags.demoCredit === undefined
            ? {}
            : { demo_credit_usd: readMoney('--demo-credit', flags.demoCredit) }),
        }
        const made = await call(context, 'init', input, { create: true })
        if (context.json) return printJson({ data_dir: context.dataDir, ...made })
        const tick = paint(context, 'green', '✓')
        const news = (part: (typeof made.created)[number]) =>
          made.created.includes(part) ? tick : '·'
        tell(context, `${news('account')} database  ${join(context.dataDir, 'gateway.db')}`)
        tell(context, `${news('account')} account   ${made.account}, balance $${made.balance_usd}`)
        tell(
          context,
          `${news('provider')} models    ${clean(made.models.join('  ')) || 'none yet'}`,
        )
        if (made.key === null) {
          tell(context, '· nothing to add; a key: gatewayctl keys create NAME')
        } else {
          tell(context, `${tick} key       ${clean(made.key.name)} (${made.key.id}), shown once:`)
          print(made.key.key)
        }
        tell(context, 'next: gatewayctl serve')
        tell(context, 'then: gatewayctl providers add openai --from-env OPENAI_API_KEY')
      }),
    )
