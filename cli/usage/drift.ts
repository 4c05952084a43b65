/** `gatewayctl usage drift`: costs stated by providers, compared with our charges for the same requests. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { checkTrimmed } from '../activity/warn-of-trimmed.ts'
import { readSince } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList, printNote } from '../terminal/output.ts'
import { noteScope } from '../terminal/scope.ts'

type Drift = VerbRecord<'usage.drift'>[number]

export const mount: Mount = (usage) =>
  usage
    .command('drift')
    .description('compare charges with the costs that providers state, largest difference first')
    .option('--since <time>', 'start time: 7d, today, month, 2026-12-01T00:00:00Z', 'month')
    .action(
      action(async (context, flags: { readonly since: string }) => {
        const since = readSince('--since', flags.since, context.clock.now())
        const rows = await call(context, 'usage.drift', { ...context.accountInput, since })
        await noteScope(context, 'all accounts')
        await checkTrimmed(context, since)
        if (rows.length === 0 && !context.json) {
          return printNote(context, `no provider has stated a cost since ${since}`)
        }
        printList(context, rows, COLUMNS, ({ model }) => model)
      }),
    )

const COLUMNS: readonly Column<Drift>[] = [
  { title: 'model', full: ({ model }) => model },
  { title: 'requests', right: true, full: ({ requests }) => requests },
  { title: 'charged $', right: true, full: ({ charged_usd }) => charged_usd },
  { title: 'stated $', right: true, full: ({ stated_usd }) => stated_usd },
  { title: 'difference $', right: true, full: ({ difference_usd }) => difference_usd },
  {
    title: '%',
    right: true,
    full: ({ difference_percent }) => difference_percent,
    short: ({ difference_percent: percent }) =>
      percent === null ? null : `${percent > 0 ? '+' : ''}${percent.toFixed(2)}`,
  },
]
