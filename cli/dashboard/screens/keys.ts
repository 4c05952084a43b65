/** Screen 2: keys with their use of each limit, the nearest to a limit first; below, details of the selected key. */
import { instant, readInstant } from '#domain/clock.ts'
import { LIMITS_OF_EACH, sayLimit } from '#domain/limits.ts'
import { shellWord } from '#forms/shell-word.ts'
import type {
  GaugeRecord,
  KeyRowRecord,
  KeyTrafficRecord,
  SpendGaugeRecord,
  WarningRecord,
} from '#operator/snapshot/record.ts'
import { clean } from '../../terminal/clean.ts'
import { withTypedFlags } from '../../terminal/typed-flags.ts'
import { describeWarning } from '../describe-warning.ts'
import { brief, ceilingPlaces, count, elapsed, percent, span } from '../figures.ts'
import { bar, curve, toneOf } from '../glyphs.ts'
import { type Line, type Piece, styled } from '../line.ts'
import { KEYS, windowOf } from '../lists.ts'
import {
  amount,
  type Column,
  cash,
  exactly,
  NARROW_COLUMNS,
  rule,
  type Scene,
  signOf,
  table,
} from '../scene.ts'
import { tabs } from './head.ts'

const DETAIL_LINES = 10
/** From this width on the list has the tokens a minute, where a key of it limits them. */
const TOKENS_COLUMNS = 150
const detailLines = ({ keys }: Scene['snapshot']): number =>
  DETAIL_LINES + Number(keys.rows.some(hasTokens))
const hasTokens = ({ tokens }: KeyRowRecord): boolean => tokens.limit !== null
/** The header of the list, and some rows around the cursor. */
const MIN_LIST_LINES = 5
/** The tabs, the warnings and the suggested command. */
const OTHER_LINES = 3

export function keysBody(scene: Scene, height: number): readonly Line[] {
  const below = Math.min(
    detailLines(scene.snapshot),
    Math.max(0, height - OTHER_LINES - MIN_LIST_LINES),
  )
  const room = height - OTHER_LINES - below
  const { rows, place, selected } = windowOf(KEYS, scene.snapshot, scene.view, 'keys', room - 1)
  const list =
    rows.length === 0 ? [[], [styled(emptyText(scene), 'dim')]] : keyTable(scene, rows, place)
  return [
    tabs(scene),
    ...exactly(list, room),
    ...exactly(selected === undefined ? [] : keyDetail(scene, selected), below),
    warningLine(scene, scene.snapshot.keys.warnings),
    [
      styled(
        selected === undefined
          ? ''
          : ` edit in another shell: ${withTypedFlags(`gatewayctl limits set ${keyArgument(scene, selected)} --rpm 120`, scene.typed)}`,
        'dim',
      ),
    ],
  ]
}

/** A filter searches only the keys of the snapshot, which in a large account are not all. */
function emptyText({ snapshot, typed }: Scene): string {
  const { rows, total } = snapshot.keys
  if (total <= rows.length) return '   no keys'
  return `   no match among the ${rows.length} keys shown here; all ${total}: ${withTypedFlags('gatewayctl keys', typed)}`
}

/** The id where two keys have the same name. */
function keyArgument({ snapshot }: Scene, { id, name }: KeyRowRecord): string {
  const isOne = snapshot.keys.rows.filter((row) => row.name === name).length === 1
  return isOne ? shellWord(name) : id
}

/** With `place` below 0 no row is selected; rows then show the mark of their level. */
export function keyTable(
  scene: Scene,
  rows: readonly KeyRowRecord[],
  place: number,
): readonly Line[] {
  const isWide = scene.size.columns >= 110
  const isNarrow = scene.size.columns < NARROW_COLUMNS
  const bars = isWide ? 6 : isNarrow ? 1 : 5
  const sign = signOf(scene)
  const gauge = (title: string, width: number, of: (row: KeyRowRecord) => GaugeRecord) =>
    column(title, width, of, (one) =>
      counted(scene, one, width === 7 ? 0 : width === 14 && !isWide ? bars - 1 : bars),
    )
  const spend = (title: string, width: number, of: (row: KeyRowRecord) => SpendGaugeRecord) =>
    column(title, width, of, (one) => spent(scene, one, isWide ? 5 : 0))
  const columns: readonly Column<KeyRowRecord>[] = isWide
    ? [
        { title: 'KEY', width: 0, text: ({ name }) => name },
        gauge('RPM', 17, ({ minute }) => minute),
        gauge('RPD', 17, ({ day }) => day),
        ...(scene.size.columns >= TOKENS_COLUMNS && rows.some(hasTokens)
          ? [gauge('TPM', 17, ({ tokens }: KeyRowRecord) => tokens)]
          : []),
        gauge('CONCURRENT', 14, ({ concurrency }) => concurrency),
        spend(`TODAY ${sign}`, 22, ({ spend_day }) => spend_day),
        spend(`MONTH ${sign}`, 22, ({ spend_month }) => spend_month),
      ]
    : [
        { title: 'KEY', width: 0, text: ({ name }) => name },
        gauge('RPM', 13, ({ minute }) => minute),
        ...(isNarrow ? [] : [gauge('RPD', 14, ({ day }: KeyRowRecord) => day)]),
        gauge('CONC', 7, ({ concurrency }) => concurrency),
        spend(`DAY ${sign}`, 12, ({ spend_day }) => spend_day),
        spend(`MONTH ${sign}`, 11, ({ spend_month }) => spend_month),
      ]
  return table(scene, columns, rows, place, (row) => markOf(scene, row))
}

/** The same mark as of a warning: `!` where the limit frees by itself. */
function markOf({ glyphs }: Scene, { level, spend_day, spend_month }: KeyRowRecord): Piece {
  const isSpent = spend_day.level === 'full' || spend_month.level === 'full'
  const mark = isSpent ? glyphs.over : level === 'ok' ? ' ' : glyphs.near
  return styled(mark, toneOf(level))
}

const column = <Gauge extends GaugeRecord | SpendGaugeRecord>(
  title: string,
  width: number,
  of: (row: KeyRowRecord) => Gauge,
  text: (gauge: Gauge) => string,
): Column<KeyRowRecord> => ({
  title,
  width,
  text: (row) => (row.kind === 'provisioning' && title.startsWith('CONC') ? 'prov' : text(of(row))),
  tone: (row) => toneOf(of(row).level),
})

/** `███░░ 41/60`; without a limit the bar is blank. */
function counted({ glyphs }: Scene, { used, limit, percent: share }: GaugeRecord, bars: number) {
  const drawn = share === null || bars === 0 ? ' '.repeat(bars) : bar(glyphs, share, bars)
  const text = `${used === null ? glyphs.none : brief(used)}/${limit === null ? glyphs.none : brief(limit)}`
  return bars === 0 ? text : `${drawn} ${text}`
}

function spent(
  scene: Scene,
  { spent_usd, limit_usd, percent: share }: SpendGaugeRecord,
  bars: number,
) {
  const { glyphs } = scene
  const drawn = share === null || bars === 0 ? ' '.repeat(bars) : bar(glyphs, share, bars)
  const limit =
    limit_usd === null ? glyphs.none : amount(scene, limit_usd, ceilingPlaces(limit_usd))
  const text = `${amount(scene, spent_usd)}/${limit}`
  return bars === 0 ? text : `${drawn} ${text}`
}

/** What is known of one key. */
export function keyDetail(scene: Scene, key: KeyRowRecord): readonly Line[] {
  const { dot } = scene.glyphs
  const line = (title: string, text: string): Line => [
    styled(` ${title.padEnd(11)}`, 'dim'),
    styled(text),
  ]
  const used = key.last_used_at === null ? 'never' : `${key.last_used_at.slice(0, 19)}Z`
  const each = LIMITS_OF_EACH.flatMap((one) => sayLimit(one, key) ?? [])
  const models = key.allowed_models === null ? 'all' : key.allowed_models.join(', ') || 'none'
  return [
    rule(scene, `${key.name}  ${key.id}  ${key.label}`, `created ${key.created_at.slice(0, 10)}`),
    line('models', models),
    line('minute', windowText(scene, key.minute, key.lately)),
    ...(key.tokens.limit === null
      ? []
      : [line('tokens', windowText(scene, key.tokens, null, 'the oldest free'))]),
    line('day', windowText(scene, key.day, null)),
    line('spend', `today ${spendText(scene, key.spend_day)}`),
    line('', `month ${spendText(scene, key.spend_month)}`),
    key.lately === null
      ? line('last used', used)
      : line('last 5 min', latelyText(scene, key.lately)),
    line(
      'top models',
      key.lately?.models
        .map(({ name, percent: share }) => `${name} ${percent(share, '')}`)
        .join(` ${dot} `) ?? scene.glyphs.none,
    ),
    line(
      'top users',
      key.lately?.users
        .map(({ name, cost_usd }) => `${name ?? '(none)'} ${cash(scene, cost_usd)}`)
        .join(` ${dot} `) ?? scene.glyphs.none,
    ),
    each.length === 0 ? [] : line('each', each.join(` ${dot} `)),
  ]
}

function windowText(
  scene: Scene,
  gauge: GaugeRecord,
  lately: KeyTrafficRecord | null,
  frees = 'next slot frees',
): string {
  const { glyphs } = scene
  const drawn = lately === null ? '' : `   ${curve(glyphs, lately.curve, 20)}`
  if (gauge.limit === null) {
    return `${gauge.used === null ? 'not counted' : `${count(gauge.used)} used`}, no limit${drawn}`
  }
  const free =
    gauge.frees_in_seconds === null
      ? ''
      : ` ${glyphs.dot} ${frees} in ${span(gauge.frees_in_seconds)}`
  return `${count(gauge.used ?? 0)} of ${count(gauge.limit)} used${free}${drawn}`
}

function spendText(scene: Scene, gauge: SpendGaugeRecord): string {
  const resets = `resets in ${span(gauge.resets_in_seconds)}`
  const spent = cash(scene, gauge.spent_usd)
  if (gauge.limit_usd === null) return `${spent}, no ceiling`
  return `${spent} of ${cash(scene, gauge.limit_usd)} (${gauge.percent}%) ${resets}`
}

function latelyText({ glyphs }: Scene, lately: KeyTrafficRecord): string {
  const failed = lately.failed.map(({ status, count }) => `${count} ${glyphs.times} ${status}`)
  return [
    `${count(lately.ok)} ok`,
    ...failed,
    ...(lately.p95_ms === null ? [] : [`p95 ${elapsed(lately.p95_ms)}`]),
    ...(lately.cached_percent === null ? [] : [`${lately.cached_percent}% cache-read tokens`]),
  ].join(` ${glyphs.dot} `)
}

/** A line where the account, or a key of it, is at a limit. */
export function fullLines(scene: Scene): readonly Line[] {
  const full = scene.snapshot.keys.warnings.filter(({ level }) => level === 100)
  return full.length === 0 ? [] : [warningLine(scene, full)]
}

function warningLine({ snapshot, glyphs }: Scene, warnings: readonly WarningRecord[]): Line {
  const at = readInstant(snapshot.at) ?? instant(0)
  return warnings.flatMap((warning) => {
    const { mark, text } = describeWarning(warning, at)
    const { account, key_name } = warning
    const isOther = key_name !== null && account !== snapshot.money.account
    return [
      styled(` ${mark === '✖' ? glyphs.over : glyphs.near} `, mark === '✖' ? 'red' : 'yellow'),
      styled(`${isOther ? `${clean(account)}: ` : ''}${text}  `),
    ]
  })
}
