/** `gatewayctl models route`: which providers serve a model; changes hold from the next request. */
import { ROUTE_ORDERS } from '#domain/route.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, noteDone, printJson, printList, printNote } from '../terminal/output.ts'
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
    .argument(
      '[mask]',
      'provider/model, or a mask of several such as "openai/*"; default: list all',
    )
    .option('--via <provider>', "add this provider, or change its hop; * is a mask's own provider")
    .option('--upstream <name>', "its name for the model; * in a mask's is the model's own name")
    .option(
      '--order <n|latency|weight>',
      'n: its position, lower ones are tried first; or how hops of one position follow',
    )
    .option('--weight <n>', 'its share of the requests within one position; default: 1')
    .option('--drop <provider>', 'remove this provider from the route')
    .option('--reset', "remove the route: a mask's, or each model's own provider serves")
    .action(
      action(async (context, pattern: string | undefined, flags: Flags) => {
        // The id of a model has a slash, and a mask an asterisk.
        if (pattern === undefined || pattern === 'list') return await list(context, flags)
        checkFlags(flags, pattern)
        const { route, message } = await act(context, pattern, flags)
        if (message !== null) noteDone(context, clean(message))
        if (context.json) return printJson(route)
        printList(context, route.hops, columns(context, route), ({ provider }) => provider)
        if (context.isTerminal && !context.quiet) printSource(context, route, pattern)
      }),
    )

async function list(context: Context, flags: Flags): Promise<void> {
  const { via, upstream, order, weight, drop, reset } = flags
  if ([via, upstream, order, weight, drop, reset].some((flag) => flag !== undefined)) {
    throw usageError(
      'the model or mask is missing whose route is to change',
      'gatewayctl models route PROVIDER/MODEL --via PROVIDER',
    )
  }
  const routes = await call(context, 'models.route.list', {})
  printList(context, routes, LISTED, ({ model }) => model)
}

/** "openai ×3, groq; azure": positions are apart by a semicolon. */
const summary = ({ hops }: Route): string =>
  [...Map.groupBy(hops, ({ position }) => position).values()]
    .map((beside) =>
      beside
        .map(({ provider, weight }) => (weight === 1 ? provider : `${provider} ×${weight}`))
        .join(', '),
    )
    .join('; ')

const LISTED: readonly Column<Route>[] = [
  { title: 'route', full: ({ model }) => model },
  { title: 'models', right: true, full: ({ models }) => models },
  { title: 'order', full: ({ order }) => order },
  { title: 'served by', full: summary },
]

/** Says by whose route it is, and how hops of one position follow each other, where that is not as usual. */
function printSource(
  context: Context,
  { routed_by, order, models, hops }: Route,
  pattern: string,
): void {
  if (routed_by !== null && routed_by !== pattern) {
    printNote(context, `this is the route of ${clean(routed_by)}`)
  }
  if (routed_by === pattern && pattern.endsWith('*')) {
    printNote(
      context,
      `${models} models; one with a route of its own, or of a longer mask, is not among them`,
    )
  }
  if (order === 'latency') printNote(context, 'of one position the fastest is asked first')
  if (hops.some(({ provider }) => provider === '*')) printNote(context, "* is each model's own")
}

/** One change at a time; flags of a hop need --via. */
function checkFlags({ via, upstream, order, weight, drop, reset }: Flags, pattern: string): void {
  const chosen = order === undefined || isRouteOrder(order) ? order : undefined
  const acts = [via, drop, reset, chosen].filter((act) => act !== undefined)
  if (acts.length > 1) {
    const also =
      chosen === undefined ? '--drop and --reset' : `--drop, --reset and --order ${chosen}`
    throw usageError(`--via, ${also} cannot be combined`)
  }
  const describes = [upstream, weight, chosen === undefined ? order : undefined].some(
    (flag) => flag !== undefined,
  )
  if (!describes || via !== undefined) return
  throw usageError(
    '--upstream, --order and --weight need --via, the provider they apply to',
    `gatewayctl models route ${shellWord(pattern)} --via PROVIDER`,
  )
}

const isRouteOrder = (order: string): order is (typeof ROUTE_ORDERS)[number] =>
  ROUTE_ORDERS.some((known) => known === order)

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
      upstream,
      position: order === undefined ? undefined : readCount('--order', order),
      weight: weight === undefined ? undefined : readCount('--weight', weight),
    })
    return { route, message: describeSet(route, model, via) }
  }
  if (order !== undefined && isRouteOrder(order)) {
    const route = await call(context, 'models.route.order', { model, order })
    return {
      route,
      message:
        order === 'latency'
          ? `of the hops of ${model} the fastest is asked first; --via PROVIDER --order 2 keeps one in reserve`
          : `hops of ${model} of one position share its requests by weight`,
    }
  }
  if (drop !== undefined) {
    const route = await call(context, 'models.route.drop', { model, provider: drop })
    return { route, message: `${model} is no longer served by ${drop}` }
  }
  if (!reset) return { route: await call(context, 'models.route.show', { model }), message: null }
  const route = await call(context, 'models.route.reset', { model })
  return { route, message: describeReset(route, model) }
}

function describeSet({ hops }: Route, model: string, via: string): string {
  const at = hops.find(({ provider }) => provider === via)?.position ?? 1
  const when = at === 1 ? '' : ` when position ${at - 1} fails`
  return `${model} is served by ${via}${when}, from the next request`
}

function describeReset({ hops, routed_by }: Route, model: string): string {
  if (model.endsWith('*')) return `${model} has no route any more`
  const by = routed_by === null ? '' : ` (the route of ${routed_by})`
  const served = hops.map(({ provider }) => provider).join(', ')
  return `${model} is served by ${served}${by === '' ? ' alone' : by}`
}

const columns = ({ clock }: Context, { order }: Route): readonly Column<Hop>[] => [
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
  ...(order === 'latency' ? [FIRST_CONTENT] : []),
]

const FIRST_CONTENT: Column<Hop> = {
  title: 'first content',
  right: true,
  full: ({ first_content_ms: ms }) => (ms === null ? null : `${ms} ms`),
}
