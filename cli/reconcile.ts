/** `gatewayctl reconcile`: a vendor's bill beside our books, with what explains the difference; exit 1 beyond a tolerance. */
import {
  type Day,
  dayOf,
  dayStart,
  type Instant,
  readInstant,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import { renderPrice } from '#domain/money.ts'
import type { VerbInput } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import { warnOfTrimmed } from './activity/warn-of-trimmed.ts'
import type { Context } from './context.ts'
import { EXIT, endWith, usageError } from './exit.ts'
import { collect } from './flags/collect.ts'
import { readSecretInput, type SecretFlags } from './flags/read-secret.ts'
import { readSince } from './flags/read-value.ts'
import { call } from './gateway/operator.ts'
import { CSV_FIELDS, printRows, printSum, toCells } from './reconcile/print.ts'
import { printCsv } from './terminal/csv.ts'
import { printJson } from './terminal/output.ts'
import { awaitProgress } from './terminal/progress.ts'
import { repeatCommand } from './terminal/typed-flags.ts'

interface Flags extends Pick<SecretFlags, 'keyFile' | 'fromEnv'> {
  readonly since: string
  readonly until: string
  readonly report?: readonly string[]
  readonly project?: string
  readonly name?: readonly string[]
  readonly tolerance: string
  readonly all?: boolean
  readonly csv?: boolean
}

export const mount: Mount = (root) =>
  root
    .command('reconcile')
    .description(
      'compare with what a vendor billed, by day, model and class of tokens; exit 1 beyond the tolerance',
    )
    .argument('<provider>', 'of type anthropic, openai or openrouter')
    .option('--since <time>', 'first day, UTC: month, 7d, 2026-11-01', 'month')
    .option('--until <time>', 'end, exclusive: today, 2026-12-01', 'today')
    .option('--report <file>', "the vendor's report, JSON or .csv; repeatable", collect)
    .option('--key-file <file>', 'read an admin key of the vendor from a file; - is standard input')
    .option('--from-env <name>', 'read the admin key from this variable')
    .option('--project <id>', 'only this project (OpenAI) or workspace (Anthropic) of the bill')
    .option('--name <theirs=ours>', "the bill's name of a model, and ours; repeatable", collect)
    .option('--tolerance <percent>', 'of the bill that may stay unexplained', '0.1')
    .option('--all', 'at a terminal, also rows that agree')
    .option('--csv', 'comma-separated, with a header')
    .action(
      action(async (context, provider: string, flags: Flags) => {
        requireOneForm(context, flags)
        const asked = askedOf(context, provider, flags)
        const bill = await readBill(context, asked, flags)
        const record = await call(context, 'reconcile', { ...asked, bill })
        if (!record.within_tolerance) endWith(EXIT.failed)
        if (context.json) return printJson(record)
        warnOfTrimmed(context, record.kept_since)
        if (flags.csv) return printCsv(CSV_FIELDS, record.rows.map(toCells) as never)
        printRows(context, record, flags.all === true)
        if (!context.quiet) printSum(context, record)
      }),
    )

function requireOneForm(context: Context, { csv, report, keyFile, fromEnv }: Flags): void {
  if (csv && (context.json || context.quiet)) {
    throw usageError('--csv cannot be combined with --json or --quiet')
  }
  if (report !== undefined && (keyFile !== undefined || fromEnv !== undefined)) {
    throw usageError('--report needs no key: it cannot be combined with --key-file or --from-env')
  }
}

type Input = VerbInput<'reconcile'>

function askedOf(context: Context, provider: string, flags: Flags): Omit<Input, 'bill'> {
  const now = context.clock.now()
  const readDay = (flag: string, text: string): Day =>
    dayOf(readInstant(readSince(flag, text, now)) ?? now)
  const from = readDay('--since', flags.since)
  const to = Math.min(readDay('--until', flags.until), dayOf(now)) as Day
  if (to <= from) {
    throw usageError(
      `from ${renderDay(from)} until ${renderDay(to)} is no whole day: today is not on a bill yet`,
      repeatCommand(context.typed, '--since', '30d'),
    )
  }
  return {
    provider,
    since: renderInstant(dayStart(from)),
    until: renderInstant(dayStart(to)),
    names: Object.fromEntries((flags.name ?? []).map(readName)),
    tolerance_percent: flags.tolerance.replace(/\s*%$/, ''),
  }
}

function readName(text: string): readonly [theirs: string, ours: string] {
  const [theirs, ours, ...more] = text.split('=')
  if (theirs && ours && more.length === 0) return [theirs, ours]
  throw usageError(`--name must be THEIRS=OURS, such as gpt-5-2025-08-07=gpt-5 (got "${text}")`)
}

const dayAt = (text: string): Day => dayOf((readInstant(text) ?? 0) as Instant)

/** From files, or from the vendor's API: what is read first is what needs no key. */
async function readBill(
  context: Context,
  { provider: name, since, until }: Omit<Input, 'bill'>,
  flags: Flags,
): Promise<Input['bill']> {
  const [{ billingVendor }, { BillBuilder }] = await Promise.all([
    import('#operator/bill/vendors.ts'),
    import('#operator/bill/bill-builder.ts'),
  ])
  const provider = await call(context, 'providers.show', { name })
  const vendor = billingVendor(name, provider.type)
  const builder = new BillBuilder(vendor.grain)
  const project = flags.project ?? null
  if (flags.report !== undefined) {
    const { readReports } = await import('./reconcile/read-reports.ts')
    await readReports(vendor, flags.report, project, builder)
  } else {
    const { fetchBill } = await import('./reconcile/fetch-bill.ts')
    const credential = (await readSecretInput(context, flags)) ?? ''
    const scope = { from: dayAt(since), to: dayAt(until), project }
    const progress = awaitProgress(context, `reading the bill of ${name}`)
    try {
      await fetchBill(vendor, { context, baseUrl: provider.base_url, credential, scope }, builder)
    } finally {
      progress.done()
    }
  }
  const { grain, counts, amounts, days, lines } = builder.finish(!vendor.hasBuckets)
  return {
    grain,
    counts,
    amounts,
    days: days.map(renderDay),
    lines: lines.map(({ day, className, amount, ...line }) => ({
      ...line,
      day: renderDay(day),
      class: className,
      usd: amount === null ? null : renderPrice(amount),
    })),
  }
}
