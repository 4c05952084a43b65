/** `gatewayctl usage report`: requests, tokens, images and cost by account, key, end user, model, provider, surface, day or hour. */
import { USAGE_DIMENSIONS, type UsageDimension } from '#domain/usage-report.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { warnOfTrimmed } from '../activity/warn-of-trimmed.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readChoice } from '../flags/read-choice.ts'
import { readCount, readSince } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type CsvValue, printCsv } from '../terminal/csv.ts'
import { type Column, printJson, printList, printNote } from '../terminal/output.ts'
import { noteScope } from '../terminal/scope.ts'

type Report = VerbRecord<'usage.report'>
type Sum = Report['total']

/** A group, the sum of all others, or the total. */
interface Line extends Sum {
  readonly first: string
  readonly second: string
  /** Null for the sums. */
  readonly row: Row | null
}

interface Flags {
  readonly by: string
  readonly thenBy?: string
  readonly since: string
  readonly until?: string
  readonly top?: string
  readonly csv?: boolean
}

const KNOWN = USAGE_DIMENSIONS.join(', ')
/** Default number of rows, except by day or hour. */
const USUAL_TOP = 10

export const mount: Mount = (usage) =>
  usage
    .command('report')
    .description('report requests, tokens, images and cost, most expensive first')
    .option('--by <dimension>', KNOWN, 'key')
    .option('--then-by <dimension>', 'split each row further')
    .option('--since <time>', 'start time: month, today, 7d, 2026-12-01T00:00:00Z', 'month')
    .option('--until <time>', 'end time, exclusive')
    .option(
      '--top <n>',
      `number of rows, the rest summed up in one (${USUAL_TOP}; days, hours and CSV: all)`,
    )
    .option('--csv', 'comma-separated, with a header and without the total')
    .action(
      action(async (context, flags: Flags) => {
        if (flags.csv && (context.json || context.quiet)) {
          throw usageError('--csv cannot be combined with --json or --quiet')
        }
        const report = await call(context, 'usage.report', toQuery(context, flags))
        if (context.json) return printJson(report)
        const { rows, other } = report
        const lines = rows.map((row): Line => ({ ...row, ...namesOf(report, row), row }))
        if (context.quiet) return printList(context, lines, [], (line) => idOf(report, line))
        if (other.groups > 0) {
          lines.push({ ...other, first: `other (${other.groups})`, second: '', row: null })
        }
        const { isMixed } = await noteScope(context, 'all accounts')
        if (isMixed) noteNamesakes(context, report)
        warnOfTrimmed(context, report.kept_since)
        if (flags.csv)
          return printCsv(
            fieldsOf(report),
            lines.map((line) => toCells(report, line)),
          )
        if (lines.length === 0) return printNote(context, `no usage since ${report.since}`)
        lines.push({ ...report.total, first: 'total', second: '', row: null })
        printList(context, lines, columnsOf(report, isMixed), ({ first }) => first)
      }),
    )

/** An end user is of one account, and no third column says of which. */
function noteNamesakes(context: Context, { by, then_by }: Report): void {
  const told = [by, then_by]
  if (told.includes('user') && !told.includes('account') && !told.includes('key'))
    printNote(context, '! users of several accounts with one name are one row here: --account NAME')
}

function toQuery(context: Context, { by, thenBy, since, until, top, csv }: Flags) {
  const now = context.clock.now()
  const first = readDimension('--by', by)
  const isCalendar = first === 'day' || first === 'hour'
  const rows = top ?? (isCalendar || csv ? undefined : String(USUAL_TOP))
  return {
    ...context.accountInput,
    by: first,
    then_by: thenBy === undefined ? null : readDimension('--then-by', thenBy),
    since: readSince('--since', since, now),
    until: until === undefined ? null : readSince('--until', until, now),
    top: rows === undefined ? undefined : readCount('--top', rows),
  }
}

const readDimension = (flag: string, text: string): UsageDimension =>
  readChoice(flag, text, USAGE_DIMENSIONS)

type Row = Report['rows'][number]

const namesOf = (report: Report, row: Row) => ({
  first: nameIn(report, row, report.by),
  second: report.then_by === null ? '' : nameIn(report, row, report.then_by),
})

/** "(none)" where the dimension has no value; a name that several keys have is followed by the id. */
function nameIn({ rows }: Report, row: Row, dimension: UsageDimension): string {
  if (dimension !== 'key') return row[dimension] ?? '(none)'
  const { key_id, key_name = '(none)' } = row
  const isShared = rows.some((other) => other.key_name === key_name && other.key_id !== key_id)
  return isShared ? `${key_name} (${key_id})` : key_name
}

/** What `--quiet` prints of a row. */
const idOf = ({ by }: Report, { row, first }: Line): string =>
  (by === 'key' ? row?.key_id : by === 'account' ? row?.account_id : null) ?? first

const hasKeys = ({ by, then_by }: Report): boolean => by === 'key' || then_by === 'key'
const hasAccounts = ({ by, then_by }: Report): boolean => by === 'account' || then_by === 'account'

/** Names, sums, and at the end what tells keys of one name apart. */
const fieldsOf = (report: Report): readonly string[] => [
  ...[report.by, report.then_by].flatMap((one) =>
    one === null ? [] : [one === 'key' ? 'key_name' : one],
  ),
  ...SUM_FIELDS,
  ...(hasKeys(report) ? ['key_id'] : []),
  ...(hasKeys(report) && !hasAccounts(report) ? ['account'] : []),
]

const SUM_FIELDS = [
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'images',
  'cost_usd',
  'cost_rub',
  'share_percent',
] as const satisfies readonly (keyof Sum)[]

function toCells(report: Report, line: Line): Readonly<Record<string, CsvValue>> {
  const { by, then_by } = report
  const sums = Object.fromEntries(SUM_FIELDS.map((field) => [field, line[field]]))
  const { row } = line
  const name = (dimension: UsageDimension, shown: string) =>
    dimension === 'key'
      ? { key_name: row?.key_name ?? shown, key_id: row?.key_id ?? null }
      : { [dimension]: shown }
  return {
    account: row?.account ?? null,
    ...(then_by !== null && name(then_by, line.second)),
    ...name(by, line.first),
    ...sums,
  }
}

const columnsOf = (report: Report, isMixed: boolean): readonly Column<Line>[] => [
  { title: report.by, full: ({ first }) => first },
  ...(report.then_by === null
    ? []
    : [{ title: report.then_by, full: ({ second }: Line) => second }]),
  ...(isMixed && hasKeys(report) && !hasAccounts(report)
    ? [
        {
          title: 'account',
          full: ({ row }: Line) => row?.account ?? null,
          short: ({ row }: Line) => row?.account ?? '',
        },
      ]
    : []),
  count('requests', null, ({ requests }) => requests),
  count('in tok', 3, ({ prompt_tokens }) => prompt_tokens),
  count('out tok', 4, ({ completion_tokens }) => completion_tokens),
  count('images', 1, ({ images }) => images),
  {
    title: 'cost $',
    right: true,
    full: ({ cost_usd }) => cost_usd,
    short: ({ cost_usd }) => shorten(cost_usd),
  },
  {
    title: '₽',
    right: true,
    full: ({ cost_rub }) => cost_rub,
    short: ({ cost_rub }) => (cost_rub >= 100 ? grouped(Math.round(cost_rub)) : String(cost_rub)),
  },
  {
    title: 'share',
    right: true,
    dropOrder: 2,
    full: ({ share_percent }) => share_percent,
    short: ({ share_percent: share }) => (share === null ? null : `${Math.round(share)}%`),
  },
]

const count = (
  title: string,
  dropOrder: number | null,
  of: (line: Line) => number,
): Column<Line> => ({
  title,
  right: true,
  ...(dropOrder !== null && { dropOrder }),
  full: of,
  short: (line) => (of(line) === 0 ? null : grouped(of(line))),
})

/** "12 304" */
const grouped = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ' ')

/** Two decimals from one dollar on: "131.20"; all digits below it. */
const shorten = (usd: string): string => (/^0\./.test(usd) ? usd : Number(usd).toFixed(2))
