/** `gatewayctl models route`: which providers serve a model; changes hold from the next request. */
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, paint, printJson, printList, printNote } from '../terminal/output.ts'
import { timeLeft } from '../terminal/relative-time.ts'

interface Flags {
  readonly via?: string
  readonly upstream?: string
  readonly order?: string
  readonly weight?: string
  readonly drop?: string
  readonly reset?: boolean
}

type Route = VerbRecord<'models.route.show'>
type Hop = Route['hops'][number]

export const mount: Mount = (models) =>
  models
    .command('route')
    .description('show which providers serve a model, or change it from the next request on')
    .argument('<model>', 'provider/model')
    .option('--via <provider>', 'add this provider, or change its hop')
    .option('--upstream <name>', "its name for the model; default: the model's upstream name")
    .option('--order <n>', 'its position: lower ones are tried first; default: after the last')
    .option('--weight <n>', 'its share of the requests within one position; default: 1')
    .option('--drop <provider>', 'remove this provider from the route')
    .option('--reset', "route to the model's own provider only")
    .action(
      action(async (context, model: string, flags: Flags) => {
        checkFlags(flags, model)
        const { route, message } = await act(context, model, flags)
        if (message !== null)
          printNote(context, `${paint(context, 'green', '✓')} ${clean(message)}`)
        if (context.json) printJson(route)
        else printList(context, route.hops, columns(context), ({ provider }) => provider)
      }),
    )

/** One change at a time; flags of a hop need --via. */
function checkFlags({ via, upstream, order, weight, drop, reset }: Flags, model: string): void {
  const acts = [via, drop, reset].filter((act) => act !== undefined)
  if (acts.length > 1) throw usageError('--via, --drop and --reset cannot be combined')
  const describes = [upstream, order, weight].some((flag) => flag !== undefined)
  if (!describes || via !== undefined) return
  throw usageError(
    '--upstream, --order and --weight need --via, the provider they apply to',
    `gatewayctl models route ${shellWord(model)} --via PROVIDER`,
  )
}

interface Acted {
  readonly route: Route
  /** What was changed; null for nothing. */
  readonly message: string | null
}

async function act(context: Context, model: string, flags: Flags): Promise<Acted> {
  const { via, upstream, order, weight, drop, reset } = flags
  if (via !== undefined) {
    const route = await call(context, 'models.route.set', {
      model,
      provider: via,
      ...(upstream === undefined ? {} : { upstream }),
      ...(order === undefined ? {} : { position: readCount('--order', order) }),
      ...(weight === undefined ? {} : { weight: readCount('--weight', weight) }),
    })
    return { route, message: `${model} is served by ${via}, from the next request` }
  }
  if (drop !== undefined) {
    const route = await call(context, 'models.route.drop', { model, provider: drop })
    return { route, message: `${model} is no longer served by ${drop}` }
  }
  if (!reset) return { route: await call(context, 'models.route.show', { model }), message: null }
  const route = await call(context, 'models.route.reset', { model })
  return { route, message: `${model} is served by ${route.hops[0]?.provider} alone` }
}

const columns = ({ clock }: Context): readonly Column<Hop>[] => [
  { title: 'position', right: true, full: ({ position }) => position },
  { title: 'weight', right: true, full: ({ weight }) => weight },
  { title: 'provider', full: ({ provider }) => provider },
  { title: 'upstream name', full: ({ upstream }) => upstream },
  {
    title: 'health',
    full: ({ health }) => health && [health.state, health.rests_until].filter(Boolean).join(' '),
    short: ({ health }) =>
      health && [health.state, timeLeft(health.rests_until, clock.now())].filter(Boolean).join(' '),
  },
  { title: 'failures', right: true, full: ({ health }) => health?.failures_in_a_row ?? null },
]
