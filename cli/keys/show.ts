/** `gatewayctl keys show`: one key, its limits, and what is left of them. */
import { RARE_LIMITS, sayLimit } from '#domain/limits.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { readSecretStdin } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

type Key = VerbRecord<'keys.show'>

export const mount: Mount = (keys) =>
  keys
    .command('show')
    .description('show one key and what is left of its limits')
    .argument('[key]', 'id, name or shown prefix')
    .option('--secret-stdin', 'find the key by its secret, read from standard input')
    .action(
      action(async (context, text: string | undefined, flags: { secretStdin?: boolean }) => {
        if ((text === undefined) === (flags.secretStdin !== true)) {
          throw usageError('give one key, or --secret-stdin', 'gatewayctl keys list')
        }
        const key =
          text === undefined
            ? await call(context, 'keys.identify', {
                ...context.accountInput,
                secret: await readSecretStdin(context),
              })
            : await call(context, 'keys.show', { ...context.accountInput, key: text })
        printRecord(context, key, key.id, fieldsOf(key))
      }),
    )

const windowOf = (limit: number | null, window: Key['windows']['minute']): string =>
  window === null
    ? String(limit ?? 'none')
    : `${window.remaining} of ${window.limit} left, resets in ${window.reset_seconds} s`

const fieldsOf = (key: Key): readonly (readonly [string, string | number | null])[] => [
  ['name', key.name],
  ['id', key.id],
  ['prefix', key.label],
  ['account', key.account],
  ['kind', key.kind],
  ['status', key.status],
  ['note', key.note],
  ['created', key.created_at],
  ['last used', key.last_used_at],
  ['expires', key.expires_at],
  ['revoked', key.revoked_at],
  ['requests per minute', windowOf(key.rpm_limit, key.windows.minute)],
  ['requests per day', windowOf(key.rpd_limit, key.windows.day)],
  ['in progress', used(key.usage.requests_in_progress, key.concurrency_limit)],
  ['spent today', spent(key.usage.spend_day_usd, key.daily_spend_limit_usd)],
  ['spent this month', spent(key.usage.spend_month_usd, key.monthly_spend_limit_usd)],
  ['further limits', RARE_LIMITS.flatMap((one) => sayLimit(one, key) ?? []).join(', ') || null],
  ['models', key.allowed_models?.join(' ') ?? 'all'],
]

const used = (count: number, limit: number | null): string =>
  limit === null ? `${count}, no limit` : `${count} of ${limit}`

const spent = (usd: string, ceiling: string | null): string =>
  ceiling === null ? `$${usd}, no ceiling` : `$${usd} of $${ceiling}`
