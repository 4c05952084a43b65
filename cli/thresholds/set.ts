/** `gatewayctl thresholds set`: changes the given fields; a webhook's secret is shown only when it is created. */
import { dollars } from '#domain/money.ts'
import { definedIn } from '#domain/stated.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCeiling } from '../flags/read-amount.ts'
import { orNone } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { showOnce } from '../terminal/show-once.ts'

interface Flags {
  readonly below?: string
  readonly email?: string
  readonly webhook?: string
  readonly rotateSecret?: boolean
}

type SetRecord = VerbRecord<'thresholds.set'>

export const mount: Mount = (thresholds) =>
  thresholds
    .command('set')
    .description('set the low-balance threshold and where its notice goes')
    .option('--below <amount>', 'notify when the balance falls below it, or none')
    .option('--email <address>', 'e-mail address for the notice, or none')
    .option('--webhook <url>', 'https URL for a signed webhook, or none')
    .option('--rotate-secret', 'replace the secret of the webhook; the old one is no longer used')
    .action(
      action(async (context, flags: Flags) => {
        const { below, email, webhook, rotateSecret = false } = flags
        const stated = definedIn({
          threshold_usd:
            below === undefined ? undefined : await readCeiling(context, '--below', below),
          email: orNone(email),
          webhook_url: orNone(webhook),
          rotate_secret: rotateSecret || undefined,
        })
        if (Object.keys(stated).length === 0) {
          throw usageError('no change given', 'gatewayctl thresholds set --below 20')
        }
        const record = await call(context, 'thresholds.set', { ...context.accountInput, ...stated })
        for (const warning of record.warnings) printNote(context, `! ${clean(warning)}`)
        if (record.marked && !record.previous.marked) {
          printNote(context, `! the balance of ${dollars(record.balance_usd)} is below it already`)
        }
        showChanges(context, record)
      }),
    )

/** With a new secret, standard output is exactly that secret, for scripts. */
function showChanges(context: Context, record: SetRecord): void {
  const { account, webhook_secret: secret } = record
  const changes = clean(`${account}: ${changesOf(record).join(', ') || 'nothing changed'}`)
  if (secret === null) {
    if (context.json) printJson(record)
    else print(context.quiet ? clean(account) : changes)
    return
  }
  noteDone(context, changes)
  showOnce(() => (context.json ? printJson(record) : print(secret)), {
    done: changes,
    help: 'gatewayctl thresholds set --rotate-secret',
  })
  printNote(
    context,
    '  Shown once. It signs every webhook (header webhook-signature, Standard Webhooks).',
  )
  printNote(context, 'next: gatewayctl thresholds test webhook')
}

function changesOf({ previous, ...now }: SetRecord): readonly string[] {
  const below = (usd: string | null) => usd && dollars(usd)
  const moves = [
    ['below', below(previous.threshold_usd), below(now.threshold_usd)],
    ['email', previous.email, now.email],
    ['webhook', previous.webhook_url, now.webhook_url],
  ] as const
  return moves
    .filter(([, from, to]) => from !== to)
    .map(([what, from, to]) => `${what} ${from ?? 'none'} → ${to ?? 'none'}`)
}
