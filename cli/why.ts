/** `gatewayctl why`: why a request was refused, whether it would be refused now, and the command that lifts that. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { call } from './gateway/operator.ts'
import { printRecord } from './terminal/output.ts'
import { relativeTime } from './terminal/relative-time.ts'
import { withTypedFlags } from './terminal/typed-flags.ts'

type Why = VerbRecord<'why'>
type Refusal = NonNullable<NonNullable<Why['now']>['refusal']>
type Field = readonly [name: string, value: string | number | null]

export const mount: Mount = (root) =>
  root
    .command('why')
    .description('explain why a request was refused, whether it would be now, and how to lift that')
    .argument('<id>', 'gen-… (X-Generation-Id), its end as lists show it, or the request id')
    .action(
      action(async (context, id: string) => {
        const record = await call(context, 'why', { ...context.accountInput, id })
        // Also in JSON.
        const why = {
          ...record,
          remedies: record.remedies.map((next) => withTypedFlags(next, context.typed)),
        }
        printRecord(context, why, why.id, [
          ['request', `${why.request_id} (${why.id})`],
          ['at', why.created_at],
          ['key', `${why.key_name} (${why.key_id})`],
          ['user', why.user],
          ['surface', why.surface],
          ['session', why.session],
          ...(why.node === null ? [] : [['node', why.node] as const]),
          ['model', why.model],
          ['route of', why.routed_by],
          ...(why.refusal === null ? storyFields(why) : refusalFields(context, why, why.refusal)),
        ])
      }),
    )

const storyFields = ({ status, code, ended_by, story }: Why): readonly Field[] => [
  ['verdict', `admitted: ${status}${code === null ? '' : ` ${code}`}, ended by ${ended_by}`],
  ...story.map((sentence): Field => ['', sentence]),
]

const refusalFields = (
  context: Context,
  { status, now, remedies }: Why,
  refusal: NonNullable<Why['refusal']>,
): readonly Field[] => [
  ['verdict', `refused: ${status} ${refusal.code}`],
  ['because', refusal.message],
  ['limit', limitText(refusal)],
  ['lifts', liftText(context, refusal)],
  ['could cost', refusal.most_cost_usd === null ? null : `at most $${refusal.most_cost_usd}`],
  ...nowFields(context, now),
  ...remedies.map((command): Field => ['to lift it', command]),
]

/** "rpm_limit 60, used 60". */
const limitText = ({ limit, limit_value, used }: Refusal): string | null =>
  limit === null ? null : `${limit} ${limit_value}, used ${used ?? 'unknown'}`

/** How limits without a reset time are lifted. */
const LIFTED_BY: Readonly<Record<string, string>> = {
  concurrency_limit_exceeded: 'when a request in progress ends',
  spend_reserved: 'when a request in progress ends',
  insufficient_balance: 'with a top-up',
}

function liftText(context: Context, { code, resets_at }: Refusal): string | null {
  if (resets_at === null) return LIFTED_BY[code] ?? null
  const soon = relativeTime(resets_at, context.clock.now())
  return context.isTerminal ? `${resets_at} (${soon})` : resets_at
}

function nowFields(context: Context, now: Why['now']): readonly Field[] {
  if (now === null) return []
  if (now.admitted === null) {
    return [['now', 'it was refused for its content, which is not logged: check the request body']]
  }
  if (now.refusal === null) return [['now', 'it would be admitted']]
  const lifting = liftText(context, now.refusal)
  return [
    ['now', `it would be refused: ${now.refusal.code}: ${now.refusal.message}`],
    ...(lifting === null ? [] : [['lifts now', lifting] as const]),
  ]
}
