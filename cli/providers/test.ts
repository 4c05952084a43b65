/** `gatewayctl providers test`: checks providers by listing their models, which is free; exit 6 when one fails. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { EXIT, endWith, usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, paint, print, printList } from '../terminal/output.ts'
import { withTypedFlags } from '../terminal/typed-flags.ts'

type Tested = VerbRecord<'providers.test'>[number]

interface Flags {
  readonly model?: string
  readonly spend?: boolean
}

export const mount: Mount = (providers) =>
  providers
    .command('test')
    .description('check upstream accounts by listing their models; free without --spend')
    .argument('[name]', 'only this provider; default: all, or those that serve --model')
    .option('--model <id>', 'also check that they know this model')
    .option(
      '--spend',
      'also request one token from the model, or the least that its API sells, at your expense; refused where the provider takes no bound',
    )
    .action(
      action(async (context, name: string | undefined, { model, spend }: Flags) => {
        if (spend && model === undefined) {
          throw usageError(
            '--spend needs --model, the model to request',
            `gatewayctl providers test ${name === undefined ? '' : `${name} `}--spend --model PROVIDER/MODEL`,
          )
        }
        const tested = await call(context, 'providers.test', {
          name: name ?? null,
          model: model ?? null,
          spend: spend === true,
        })
        if (tested.some(({ ok }) => !ok)) endWith(EXIT.unhealthy)
        if (context.json || context.quiet || !context.isTerminal) {
          return printList(context, tested, COLUMNS, ({ provider }) => provider)
        }
        const width = Math.max(0, ...tested.map(({ provider }) => provider.length))
        for (const one of tested) print(describe(context, one, width))
      }),
    )

const COLUMNS: readonly Column<Tested>[] = [
  { title: 'provider', full: ({ provider }) => provider },
  { title: 'ok', full: ({ ok }) => (ok ? 'ok' : 'failed') },
  { title: 'status', right: true, full: ({ status }) => status },
  { title: 'models', right: true, full: ({ models }) => models },
  { title: 'ms', right: true, full: ({ ms }) => ms },
  { title: 'upstream name', full: ({ upstream }) => upstream },
  { title: 'message', full: ({ message }) => message },
]

/** "openai      ✓ 87 models · 212 ms"; after a failure, also the next command. */
function describe(context: Context, tested: Tested, width: number): string {
  const { provider, ok, models, upstream, ms, message, prompt_tokens, completion_tokens } = tested
  const name = clean(provider).padEnd(width + 2)
  if (!ok) {
    const edit = withTypedFlags(
      `gatewayctl providers edit ${clean(provider)} --key-file -`,
      context.typed,
    )
    const next = `${' '.repeat(width + 4)}next: ${edit}`
    return `${name}${paint(context, 'red', '✖')} ${clean(message ?? 'it failed')}\n${next}`
  }
  const facts = [
    models === null ? null : `${models} models`,
    upstream,
    prompt_tokens === null ? null : `${prompt_tokens} tokens in, ${completion_tokens} out`,
    `${ms} ms`,
    message,
  ]
  return `${name}${paint(context, 'green', '✓')} ${clean(facts.filter((fact) => fact !== null).join(' · '))}`
}
