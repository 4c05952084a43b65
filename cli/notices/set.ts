/** `gatewayctl notices set`: changes the given settings; a webhook's secret is shown only when it is created. */

import { definedIn } from '#domain/stated.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readChoice } from '../flags/read-choice.ts'
import { orNone } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { showOnce } from '../terminal/show-once.ts'
import { settingFields } from './setting-fields.ts'

interface Flags {
  readonly email?: string
  readonly webhook?: string
  readonly rotateSecret?: boolean
  readonly at?: string
  readonly quietHours?: string
  readonly digest?: string
  readonly wake?: string
}

export const mount: Mount = (notices) =>
  notices
    .command('set')
    .description("set where and when the gateway's operator is told")
    .option('--email <address>', 'e-mail address for notices, or none')
    .option('--webhook <url>', 'https URL for signed webhooks, or none')
    .option('--rotate-secret', 'replace the secret of the webhook; the old one is no longer used')
    .option('--at <percents>', 'shares of a spend ceiling to tell of, or none (80,100)')
    .option('--quiet-hours <times>', 'send nothing in between, UTC: 22:00-07:00, or none')
    .option('--digest <time>', 'send everything together once a day, UTC: 08:00, or none')
    .option('--wake <what>', 'critical is sent at once all the same, or nothing (nothing)')
    .action(
      action(async (context, flags: Flags) => {
        const stated = toInput(flags)
        if (Object.keys(stated).length === 0) {
          throw usageError('no change given', 'gatewayctl notices set --email ops@example.org')
        }
        const record = await call(context, 'notices.set', stated)
        for (const warning of record.warnings) printNote(context, `! ${clean(warning)}`)
        showChanges(context, record)
      }),
    )

const toInput = ({ email, webhook, rotateSecret, at, quietHours, digest, wake }: Flags) =>
  definedIn({
    email: orNone(email),
    webhook_url: orNone(webhook),
    rotate_secret: rotateSecret || undefined,
    ceiling_percents: at === undefined ? undefined : readPercents(at),
    quiet: orNone(quietHours),
    digest_at: orNone(digest),
    wakes_for_critical:
      wake === undefined ? undefined : readChoice('--wake', wake, WAKES) === 'critical',
  })

const WAKES = ['critical', 'nothing'] as const

function readPercents(text: string): number[] {
  if (text === 'none') return []
  const percents = text.split(',').map((one) => one.trim().replace(/%$/, ''))
  if (percents.every((one) => /^[1-9]\d{0,2}$/.test(one))) return percents.map(Number)
  throw usageError(`--at must be percents such as 80,100, or none (got "${text}")`)
}

type SetRecord = VerbRecord<'notices.set'>

/** With a new secret, standard output is exactly that secret, for scripts. */
function showChanges(context: Context, record: SetRecord): void {
  const { webhook_secret: secret } = record
  const changes = clean(changesOf(record).join(', ') || 'nothing changed')
  if (secret === null) {
    if (context.json) printJson(record)
    else print(changes)
    return
  }
  noteDone(context, changes)
  showOnce(() => (context.json ? printJson(record) : print(secret)), {
    done: changes,
    help: 'gatewayctl notices set --rotate-secret',
  })
  printNote(
    context,
    '  Shown once. It signs every webhook (header webhook-signature, Standard Webhooks).',
  )
  printNote(context, 'next: gatewayctl notices test webhook')
}

function changesOf({ previous, ...now }: SetRecord): readonly string[] {
  const before = new Map(settingFields(previous))
  return settingFields(now)
    .filter(([what, to]) => before.get(what) !== to)
    .map(([what, to]) => `${what} ${before.get(what) ?? 'none'} → ${to ?? 'none'}`)
}
