/** `gatewayctl keys list`: the keys, their limits and what they spent. */
import { allows, KEY_KINDS } from '#domain/key.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call, callBoth } from '../gateway/operator.ts'
import { RARE_COLUMNS } from '../limits/columns.ts'
import { type Column, printList } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'
import { noteScope } from '../terminal/scope.ts'

type Key = VerbRecord<'keys.list'>[number]

interface Flags {
  readonly includeRevoked?: boolean
  readonly kind?: string
  readonly model?: string
  readonly sort?: string
}

export const mount: Mount = (keys) =>
  keys
    .command('list')
    .description('list keys with their limits and spend')
    .option('--include-revoked', 'revoked keys too')
    .option('--kind <kind>', 'ordinary or provisioning')
    .option('--model <id>', 'only keys that may call this model')
    .option('--sort <by>', 'created, name, spend or last-used', 'created')
    .action(
      action(async (context, flags: Flags) => {
        const order = ORDERS[readChoice('--sort', flags.sort ?? 'created', ORDER_NAMES)]
        const input = {
          ...context.accountInput,
          include_revoked: flags.includeRevoked === true,
          kind: flags.kind === undefined ? null : readChoice('--kind', flags.kind, KEY_KINDS),
        }
        // Whose they are is said only where people read it.
        const [all, accounts] =
          context.json || context.quiet
            ? [await call(context, 'keys.list', input), []]
            : await callBoth(
                context,
                { name: 'keys.list', input },
                { name: 'accounts.list', input: {} },
              )
        await noteScope(context, 'default account', accounts)
        const { model } = flags
        const rows = all.filter((key) => model === undefined || allows(key.allowed_models, model))
        printList(context, rows.toSorted(order), columns(context), (key) => key.id)
      }),
    )

const ORDER_NAMES = ['created', 'name', 'spend', 'last-used'] as const

const ORDERS: Readonly<Record<(typeof ORDER_NAMES)[number], (a: Key, b: Key) => number>> = {
  created: () => 0,
  name: (a, b) => (a.name < b.name ? -1 : 1),
  spend: (a, b) => Number(b.usage.spend_month_usd) - Number(a.usage.spend_month_usd),
  'last-used': (a, b) => ((a.last_used_at ?? '') > (b.last_used_at ?? '') ? -1 : 1),
}

const models = (key: Key): string =>
  key.kind === 'provisioning'
    ? 'provisioning: manages keys, calls no models'
    : (key.allowed_models?.join(',') ?? 'all')

const columns = (context: Context): readonly Column<Key>[] => [
  { title: 'name', full: (key) => key.name },
  { title: 'id', isId: true, dropOrder: 6, full: (key) => key.id },
  { title: 'prefix', dropOrder: 1, full: (key) => key.label },
  { title: 'status', dropOrder: 3, full: (key) => key.status },
  { title: 'rpm', right: true, dropOrder: 7, full: (key) => key.rpm_limit },
  { title: 'rpd', right: true, dropOrder: 4, full: (key) => key.rpd_limit },
  { title: 'conc', right: true, dropOrder: 5, full: (key) => key.concurrency_limit },
  {
    title: 'day $',
    right: true,
    full: (key) => `${key.usage.spend_day_usd}/${key.daily_spend_limit_usd ?? '-'}`,
  },
  {
    title: 'month $',
    right: true,
    full: (key) => `${key.usage.spend_month_usd}/${key.monthly_spend_limit_usd ?? '-'}`,
  },
  { title: 'models', dropOrder: 8, full: models },
  {
    title: 'last used',
    dropOrder: 2,
    full: (key) => key.last_used_at,
    short: (key) => relativeTime(key.last_used_at, context.clock.now()),
  },
  ...RARE_COLUMNS.map((column) => ({ ...column, dropOrder: 4 })),
]
