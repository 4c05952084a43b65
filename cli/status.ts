/** `gatewayctl status`: exit 0 while it serves, 4 when no server runs, 6 when it is unhealthy. */
import { GatewayError } from '#domain/errors.ts'
import { dollars } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { describeWarning } from './dashboard/describe-warning.ts'
import { CommandError, EXIT, endWith, exitCodeOf, isOfOtherSchema, withExitCode } from './exit.ts'
import { DamageError } from './gateway/damage.ts'
import { call } from './gateway/operator.ts'
import { describeTrouble } from './providers/describe-trouble.ts'
import { clean } from './terminal/clean.ts'
import { paint, print, printJson } from './terminal/output.ts'
import { bytes, duration, relativeTime, timeLeft } from './terminal/relative-time.ts'
import { withTypedFlags } from './terminal/typed-flags.ts'

type Status = VerbRecord<'status'>

export const mount: Mount = (root) =>
  root
    .command('status')
    .description('show is it running, is it healthy, what is it spending (-q: exit code only)')
    .action(
      action(async (context) => {
        const status = await ask(context)
        if (status === null) return
        if (!status.running) endWith(EXIT.notRunning)
        else if (!status.healthy) endWith(EXIT.unhealthy)
        if (context.quiet) return
        if (context.json) return printJson(status)
        for (const [name, text] of lines(context, status)) {
          print(`${paint(context, 'dim', name.padEnd(TITLE_COLUMNS))}${folded(context, text)}`)
        }
      }),
    )

const TITLE_COLUMNS = 11

/** Wraps a long line at a dot or a gap, indented; in a pipe it stays one line. */
function folded({ isTerminal, columns }: Context, text: string): string {
  if (!isTerminal) return text
  const room = columns - TITLE_COLUMNS
  const lines = ['']
  for (const piece of text.split(/(?<= · | {3})/)) {
    const line = lines.at(-1) ?? ''
    if (line === '' || Bun.stringWidth((line + piece).trimEnd()) <= room) {
      lines[lines.length - 1] = line + piece
    } else lines.push(piece)
  }
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(TITLE_COLUMNS)}`)
}

/** Whether the error also means that no server runs: no database, a damaged one, or another schema. */
const isUnserved = (thrown: unknown): thrown is CommandError | GatewayError =>
  thrown instanceof DamageError
    ? !thrown.isServed
    : thrown instanceof CommandError
      ? thrown.code === 'not_initialised'
      : thrown instanceof GatewayError && isOfOtherSchema(thrown.details)

/** Null where `-q` leaves only the exit code. */
async function ask(context: Context): Promise<Status | null> {
  try {
    return await call(context, 'status', { ...context.accountInput, warnings: !context.quiet })
  } catch (thrown) {
    const exitCode = isUnserved(thrown)
      ? EXIT.notRunning
      : thrown instanceof DamageError
        ? EXIT.unhealthy
        : exitCodeOf(thrown)
    if (exitCode !== EXIT.notRunning && exitCode !== EXIT.unhealthy) throw thrown
    endWith(exitCode)
    if (context.quiet) return null
    throw withExitCode(thrown, exitCode)
  }
}

function lines(context: Context, status: Status): readonly (readonly [string, string])[] {
  const providers = status.providers.map((provider) => describeProvider(context, provider))
  const balances = status.accounts.map(({ name, balance_usd }) =>
    status.accounts.length === 1 ? dollars(balance_usd) : `${clean(name)} ${dollars(balance_usd)}`,
  )
  const rate = `USD/RUB ${status.rub_per_usd}${status.rate_set_by_operator ? '' : ' (default: nobody has set it)'}`
  return [
    ...accountLines(context, status),
    ['gateway', gatewayLine(context, status)],
    ...nodeLines(context, status),
    ['sign-in', signinLine(context, status)],
    ...cabinetLines(status),
    ['data', dataLine(context, status)],
    ['now', nowLine(status)],
    ['providers', providers.join('   ') || 'none'],
    [
      'money',
      [
        `balance ${balances.join(', ') || '$0'}`,
        ...runwaysOf(status),
        `today $${status.spend_day_usd}`,
        `month $${status.spend_month_usd}`,
        ...alertsOf(context, status),
        rate,
      ].join(' · '),
    ],
    ...limitLines(context, status),
  ]
}

/** Which accounts money and keys are of, where there are several; traffic is the whole gateway's. */
function accountLines(
  { accountInput }: Context,
  { account, accounts }: Status,
): readonly (readonly [string, string])[] {
  if (accountInput.account !== undefined)
    return [['account', `${clean(account ?? '')} (money, keys)`]]
  return accounts.length < 2
    ? []
    : [['accounts', `all ${accounts.length}; one alone: --account NAME`]]
}

/** "a ● 3 in flight   b ◐ silent, 1 in flight": those that share the store. */
function nodeLines(
  context: Context,
  { nodes, server_warnings }: Status,
): readonly (readonly [string, string])[] {
  if (nodes === null) return []
  const texts = nodes.map(({ name, state, in_flight }) => {
    const held = `${in_flight} in flight`
    if (state === 'alive') return `${clean(name)} ${paint(context, 'green', '●')} ${held}`
    const [color, mark] = state === 'silent' ? (['yellow', '◐'] as const) : (['red', '○'] as const)
    return `${clean(name)} ${paint(context, color, `${mark} ${state}`)}, ${held}`
  })
  return [
    ['nodes', texts.join('   ') || 'none'],
    ...server_warnings.map(
      (one) => ['database', `${paint(context, 'yellow', '!')} ${clean(one)}`] as const,
    ),
  ]
}

/** "/var/lib/gatewayctl   412 MB   schema 14   last backup 6h ago"; in memory without a backup. */
function dataLine(context: Context, status: Status): string {
  const { data_dir, size_bytes, schema_version, last_backup_at, nodes } = status
  const held = `${bytes(size_bytes)}   schema ${schema_version}`
  if (nodes !== null) return `PostgreSQL   ${held}`
  if (data_dir === null) return `in memory   ${held}`
  const backup =
    last_backup_at === null
      ? 'no backup yet'
      : `last backup ${relativeTime(last_backup_at, context.clock.now())}`
  return `${data_dir}   ${held}   ${backup}`
}

/** "14 in flight · 232 req/min · p95 6.4s · errors 0.8% (5 min)"; without a server only what the database knows. */
function nowLine({ in_flight, keys, traffic }: Status): string {
  const { requests_per_minute, total_ms, error_percent } = traffic ?? {}
  return [
    `${in_flight} in flight`,
    ...(requests_per_minute === undefined ? [] : [`${requests_per_minute} req/min`]),
    ...(total_ms?.p95 == null ? [] : [`p95 ${seconds(total_ms.p95)}`]),
    ...(error_percent == null ? [] : [`errors ${error_percent}% (5 min)`]),
    counted(keys, 'key', 'keys'),
  ].join(' · ')
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)}s`

/** "runway ~7d 17h"; empty where no money is spent. */
const runwaysOf = ({ accounts }: Status): readonly string[] => {
  const known = accounts.filter(({ runway }) => runway.seconds !== null)
  const texts = known.map(
    ({ name, runway }) =>
      `${accounts.length === 1 ? '' : `${clean(name)} `}${lasts(runway.seconds ?? 0)}`,
  )
  return texts.length === 0 ? [] : [`runway ${texts.join(', ')}`]
}

const MAX_DAYS = 999

/** Longer estimates mean nothing. */
const lasts = (seconds: number): string =>
  seconds > MAX_DAYS * 86_400 ? `more than ${MAX_DAYS}d` : `~${duration(seconds)}`

const MAX_WARNINGS = 8

/** "✖ alice-notebook reached its daily ceiling of $5.00   ! ci-evals is at its RPM limit of 60" */
function limitLines(
  context: Context,
  { warnings, accounts }: Status,
): readonly (readonly [string, string])[] {
  if (warnings.length === 0) return []
  const texts = warnings.slice(0, MAX_WARNINGS).map((warning) => {
    const { account, key_name } = warning
    const { mark, text } = describeWarning(warning, context.clock.now())
    const whose = accounts.length === 1 || key_name === null ? '' : `${clean(account)}: `
    return `${paint(context, mark === '✖' ? 'red' : 'yellow', mark)} ${whose}${text}`
  })
  const more = warnings.length - texts.length
  return [['limits', [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('   ')]]
}

/** "alert below $20.00 (low, notified 3h ago)"; empty without a threshold. */
function alertsOf(context: Context, { accounts }: Status): readonly string[] {
  const alerts = accounts.flatMap(({ name, threshold_usd, marked, notified_at }) => {
    if (threshold_usd === null) return []
    const low = `low, notified ${relativeTime(notified_at, context.clock.now())}`
    const mark = marked ? ` (${paint(context, 'yellow', low)})` : ''
    return [`${accounts.length === 1 ? '' : `${clean(name)} `}$${threshold_usd}${mark}`]
  })
  return alerts.length === 0 ? [] : [`alert below ${alerts.join(', ')}`]
}

/** "anthropic ◐ resting 40s (3 failures)"; without a server only the name. */
function describeProvider(
  context: Context,
  { name, health, served_percent, failed, credentials }: Status['providers'][number],
): string {
  if (health === null) return clean(name)
  const { state, failures_in_a_row: failures, rests_until } = health
  const mark = state === 'resting' ? paint(context, 'yellow', '◐') : paint(context, 'green', '●')
  const rest = state === 'resting' ? `resting ${timeLeft(rests_until, context.clock.now())}` : ''
  const count = failures === 0 ? '' : `(${failures} ${failures === 1 ? 'failure' : 'failures'})`
  const served = served_percent === null ? '' : `${served_percent}%`
  const worst = failed?.[0] ? `(${failed[0].status ?? 'no answer'} × ${failed[0].count})` : ''
  const ailing = credentials.map(
    (one) => `· ${one.credential} ${describeTrouble(one, context.clock.now())}`,
  )
  const words = [clean(name), mark, served, rest, count || worst, ...ailing]
  return words.filter((word) => word !== '').join(' ')
}

function signinLine(context: Context, { running, pid, auth_url, clients, people }: Status): string {
  const dot = paint(context, auth_url === null ? 'dim' : 'green', auth_url === null ? '○' : '●')
  const where = auth_url ?? (running ? (pid === null ? 'at each node' : 'off') : 'not running')
  return `${dot} ${where}   ${counted(clients, 'client', 'clients')}   ${counted(people, 'person', 'people')}`
}

const MAX_OWNED = 4

/** "http://…/cabinet   default: ann@example.org": where it is, and whose the accounts are. */
function cabinetLines({ cabinet_url, accounts }: Status): readonly (readonly [string, string])[] {
  if (cabinet_url === null) return []
  const owned = accounts.map(
    ({ name, owners }) => `${clean(name)}: ${owners.map(clean).join(', ') || 'no owner'}`,
  )
  const more = owned.length > MAX_OWNED ? [`${owned.length - MAX_OWNED} more`] : []
  return [['cabinet', [cabinet_url, ...owned.slice(0, MAX_OWNED), ...more].join('   ')]]
}

const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`

/** The same words as on the dashboard. */
function stateOf(context: Context, { draining, healthy }: Status): string {
  if (draining) return `${paint(context, 'yellow', '◐')} draining`
  return healthy
    ? `${paint(context, 'green', '●')} serving`
    : `${paint(context, 'red', '●')} unhealthy`
}

function gatewayLine(context: Context, status: Status): string {
  const version = `v${status.version}`
  if (status.running && status.pid === null) {
    const alive = (status.nodes ?? []).filter(({ state }) => state === 'alive')
    return `${stateOf(context, status)} at ${counted(alive.length, 'node', 'nodes')}, none of them here   ${version}`
  }
  if (!status.running)
    return `${paint(context, 'red', '○')} not running   ${version}   next: ${withTypedFlags('gatewayctl serve', context.typed)}`
  return `${stateOf(context, status)} ${status.base_url}   ${version}   pid ${status.pid}   up ${duration(status.uptime_seconds ?? 0)}`
}
