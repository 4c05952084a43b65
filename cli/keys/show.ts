/** `gatewayctl keys show`: one key, its limits, and what is left of them. */
import { LIMITS_OF_EACH, sayLimit } from '#domain/limits.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { usageError } from '../exit.ts'
import { readSecretStdin } from '../flags/read-secret.ts'
import { call } from '../gateway/operator.ts'
import { spent, used, windowOf } from '../limits/usage-fields.ts'
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
  ['requests per minute', key.windows.minute ? windowOf(key.windows.minute) : 'none'],
  ['requests per day', key.windows.day ? windowOf(key.windows.day) : 'none'],
  ['tokens per minute', key.windows.tokens ? windowOf(key.windows.tokens) : 'none'],
  ['in progress', used(key.usage.requests_in_progress, key.concurrency_limit)],
  ['spent today', spent(key.usage.spend_day_usd, key.daily_spend_limit_usd)],
  ['spent this month', spent(key.usage.spend_month_usd, key.monthly_spend_limit_usd)],
  ['further limits', LIMITS_OF_EACH.flatMap((one) => sayLimit(one, key) ?? []).join(', ') || null],
  ['models', key.allowed_models?.join(' ') ?? 'all'],
]
