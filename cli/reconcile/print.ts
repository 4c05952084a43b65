/** A comparison with a bill for people: what differs and why, and the sums. */
import { dollars } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { clean } from '../terminal/clean.ts'
import { count } from '../terminal/count.ts'
import type { CsvValue } from '../terminal/csv.ts'
import { type Column, paint, print, printList, printNote } from '../terminal/output.ts'

export type Reconciliation = VerbRecord<'reconcile'>
export type ReconciledRow = Reconciliation['rows'][number]

type Reason = ReconciledRow['parts'][number]['reason']

/** As they follow "because of". */
const REASONS: Readonly<Record<Reason, string>> = {
  day_edge: 'requests around midnight UTC',
  hung_up: 'requests whose client hung up',
  broke_off: 'answers that broke off',
  estimated: 'requests that the provider did not count',
  beyond_hold: 'requests ended beyond their hold',
  failed_attempt: 'failed attempts that may have been billed',
  stopped: 'requests that the gateway ended',
  withheld: 'what came beyond what was held',
  stated_cost: 'another price, stated with each answer',
  rounding: 'rounding',
  price: 'another price than ours',
  unexplained: 'unexplained',
}

export const CSV_FIELDS = [
  'day',
  'model',
  'class',
  'our_units',
  'their_units',
  'difference_units',
  'our_usd',
  'their_usd',
  'difference_usd',
  'unexplained_usd',
  'reasons',
] as const

export const toCells = (row: ReconciledRow): Readonly<Record<string, CsvValue>> => {
  const { parts, ...cells } = row
  const reasons = parts.map(({ reason, usd }) => `${reason} ${usd}`)
  return { ...cells, reasons: reasons.join('; ') }
}

const short = (usd: string | null): string | null => {
  const match = /^(-?\d+)\.?(\d*)$/.exec(usd ?? '')
  return match === null
    ? null
    : `${match[1]}.${`${match[2]}00`.slice(0, Math.max(2, Math.min(6, match[2]?.length ?? 0)))}`
}

const COLUMNS: readonly Column<ReconciledRow>[] = [
  { title: 'day', full: ({ day }) => day },
  { title: 'model', full: ({ model }) => model },
  { title: 'class', full: (row) => row.class },
  { title: 'ours', right: true, dropOrder: 2, full: ({ our_units }) => our_units },
  { title: 'theirs', right: true, dropOrder: 1, full: ({ their_units }) => their_units },
  {
    title: 'ours $',
    right: true,
    full: ({ our_usd }) => our_usd,
    short: ({ our_usd }) => short(our_usd),
  },
  {
    title: 'theirs $',
    right: true,
    full: ({ their_usd }) => their_usd,
    short: ({ their_usd }) => short(their_usd),
  },
  {
    title: 'difference $',
    right: true,
    full: ({ difference_usd }) => difference_usd,
    short: ({ difference_usd }) => short(difference_usd),
  },
  {
    title: 'why',
    full: ({ parts }) => parts.map(({ reason, usd }) => `${reason} ${usd}`).join('; '),
    short: ({ parts }) => parts.map(({ reason }) => reason.replaceAll('_', ' ')).join(', ') || null,
  },
]

const differs = ({ difference_units, difference_usd, unexplained_usd }: ReconciledRow): boolean =>
  (difference_units ?? 0) !== 0 || (difference_usd ?? '0') !== '0' || unexplained_usd !== '0'

/** A terminal gets the rows that differ, unless all are asked for; a pipe gets all. */
export function printRows(context: Context, { rows }: Reconciliation, all: boolean): void {
  const shown = context.isTerminal && !all ? rows.filter(differs) : rows
  if (shown.length > 0) printList(context, shown, COLUMNS, idOf)
}

const idOf = ({ day, model, class: name }: ReconciledRow): string => `${day} ${model ?? ''} ${name}`

/** A total, in a line of text. */
const inShort = (usd: string | null): string => dollars(short(usd) ?? '0')

/** What the rows come to: a result too, but not one of them. */
export function printSum(context: Context, record: Reconciliation): void {
  const { total, parts, missing_days: missing, provider } = record
  const put = context.isTerminal ? print : (line: string) => printNote(context, line)
  const theirs = total.their_usd === null ? 'no amounts' : inShort(total.their_usd)
  put(
    `${clean(provider)} ${record.since.slice(0, 10)} to ${record.until.slice(0, 10)}: ours ${inShort(total.our_usd)}, theirs ${theirs}${total.difference_usd === null ? '' : `, difference ${inShort(total.difference_usd)}`}`,
  )
  for (const { reason, requests, usd } of parts) {
    const some = requests === null ? '' : `  (${count(requests, 'request')} in doubt)`
    put(`  ${(short(usd) ?? '').padStart(14)}  ${REASONS[reason]}${some}`)
  }
  const percent = total.unexplained_percent
  const mark = record.within_tolerance ? paint(context, 'green', '✓') : paint(context, 'red', '✖')
  put(
    `${mark} unexplained ${inShort(total.unexplained_usd)}${percent === null ? '' : `, ${percent} %`}; tolerance ${record.tolerance_percent} %`,
  )
  if (total.in_doubt_requests > 0) {
    const some = count(total.in_doubt_requests, 'request')
    put(
      `  ${some} may have cost up to ${inShort(total.in_doubt_usd)} together: nobody counted them`,
    )
  }
  if (missing.length > 0) {
    printNote(
      context,
      `! the bill does not tell of ${count(missing.length, 'day')}, left out: ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ' …' : ''}`,
    )
  }
  printHints(context, record)
}

function printHints(context: Context, { rows, provider, within_tolerance }: Reconciliation): void {
  if (within_tolerance) return
  const worst = rows
    .filter(({ parts }) =>
      parts.some(({ reason }) => reason === 'price' || reason === 'unexplained'),
    )
    .toSorted((a, b) => Number(b.unexplained_usd) - Number(a.unexplained_usd))
    .at(0)
  if (worst === undefined) return
  const { day, model, class: name } = worst
  const isPrice = worst.parts.some(({ reason }) => reason === 'price')
  printNote(
    context,
    `most of it: ${day} ${clean(model ?? name)}${model === null ? '' : ` ${clean(name)}`}`,
  )
  printNote(
    context,
    isPrice
      ? `next: gatewayctl models list ${provider}/*   and compare with the vendor's prices`
      : 'next: --project, where other applications of yours are on the same bill; --name, where a model has another name there',
  )
}
