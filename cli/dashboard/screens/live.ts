/** Screen 1: requests in progress, and as many summaries as there is room for. */
import type { InFlightRecord, LogRecord, ProviderTrafficRecord } from '#operator/snapshot/record.ts'
import { brief, ceilingPlaces, count, elapsed, lasting, percent, timeOfDay } from '../figures.ts'
import { curve } from '../glyphs.ts'
import { beside, type Line, type Piece, spread, styled, toLeft, toRight } from '../line.ts'
import { LIVE, windowOf } from '../lists.ts'
import {
  amount,
  type Column,
  cash,
  exactly,
  isWide,
  NARROW_COLUMNS,
  ofAccount,
  rule,
  type Scene,
  shortId,
  signOf,
  table,
} from '../scene.ts'
import { alert, countsLine, errors, gaugeOf, rateOf, spendRate, summary, tabs } from './head.ts'
import { fullLines, keyTable } from './keys.ts'
import { hoursBlock, THREE_COLUMNS } from './trend.ts'

/** Between the header and the footer. */
export const liveBody = (scene: Scene, height: number): readonly Line[] =>
  isWide(scene) ? wideBody(scene, height) : narrowBody(scene, height)

const ERROR_LINES = 3

function narrowBody(scene: Scene, height: number): readonly Line[] {
  const head = summary(scene)
  const { log: _, errors: failed } = scene.snapshot
  const foot: readonly Line[] = [
    ...fullLines(scene),
    rule(scene, 'recent errors'),
    ...exactly(
      failed.slice(0, ERROR_LINES).map((one) => errorLine(scene, one, scene.size.columns)),
      ERROR_LINES,
    ),
    countsLine(scene, [styled('newest first ', 'dim')]),
  ]
  const room = height - head.length - 1 - foot.length
  return [...head, tabs(scene), ...exactly(requestTable(scene, room), room), ...foot]
}

const PROVIDER_LINES = 6
const NEAR_KEYS = 4

function wideBody(scene: Scene, height: number): readonly Line[] {
  const head = [
    ...withHours(scene, (left) =>
      sideBySide(
        left,
        [`throughput${everywhere(scene)}`, throughput(left)],
        [ofAccount(scene, 'money'), moneyLines(left)],
      ),
    ),
    rule(scene, ofAccount(scene, 'keys nearest a limit')),
    ...exactly(keyTable(scene, scene.snapshot.keys.rows.slice(0, NEAR_KEYS), -1), NEAR_KEYS + 1),
    ...fullLines(scene),
    tabs(scene),
  ]
  const half = halfOf(scene)
  const failed = scene.snapshot.errors.slice(0, PROVIDER_LINES)
  const foot = [
    ...sideBySide(
      scene,
      ['providers', exactly(providerLines(scene), PROVIDER_LINES)],
      [
        `errors ${scene.glyphs.dot} newest first`,
        exactly(
          failed.map((one) => errorLine(scene, one, scene.size.columns - half - 1)),
          PROVIDER_LINES,
        ),
      ],
    ),
    rule(scene, ''),
    countsLine(scene, spendRate(scene)),
  ]
  const room = height - head.length - foot.length
  return [...head, ...exactly(requestTable(scene, room), room), ...foot]
}

/** On a very wide terminal the last 24 hours stand beside the rest. */
function withHours(scene: Scene, draw: (left: Scene) => readonly Line[]): readonly Line[] {
  const { columns } = scene.size
  if (columns < THREE_COLUMNS) return draw(scene)
  const width = Math.floor((columns * 2) / 3)
  const hours = hoursBlock(scene, columns - width)
  const wall = styled(scene.glyphs.wall, 'dim')
  return draw({ ...scene, size: { ...scene.size, columns: width } }).map((line, row) =>
    row === 0
      ? [...beside(line, width, []), ...(hours[0] ?? [])]
      : beside(line, width, [wall, ...(hours[row] ?? [])]),
  )
}

/** Rates and latencies are those of the whole gateway, whichever account is shown. */
const everywhere = ({ snapshot, glyphs }: Scene): string =>
  snapshot.gateway.accounts < 2 ? '' : ` ${glyphs.dot} rates of all accounts`

const halfOf = ({ size }: Scene): number => Math.floor(size.columns / 2) - 1

type Block = readonly [title: string, lines: readonly Line[]]

/** Two blocks of the same height, with a vertical line between them. */
function sideBySide(
  scene: Scene,
  [leftTitle, left]: Block,
  [rightTitle, right]: Block,
): readonly Line[] {
  const half = halfOf(scene)
  const rest = scene.size.columns - half
  const wall = styled(scene.glyphs.wall, 'dim')
  return [
    [...rule(scene, leftTitle, '', half), ...rule(scene, rightTitle, '', rest)],
    ...left.map((line, index) => beside(line, half, [wall, ...(right[index] ?? [])])),
  ]
}

function throughput(scene: Scene): readonly Line[] {
  const { snapshot, glyphs } = scene
  const { traffic, in_flight } = snapshot
  const { total_ms: total, first_byte_ms: first, curves } = traffic
  const ms = (value: number | null): string => (value === null ? glyphs.none : elapsed(value))
  const drawn = (points: readonly (number | null)[]): Piece =>
    styled(curve(glyphs, points, 30), 'cyan')
  return [
    [
      styled(` in flight ${count(in_flight.count).padStart(5)}`, 'bold'),
      styled(`    peak ${in_flight.peak}`),
    ],
    [
      styled(` req/min   ${count(traffic.requests_per_minute).padStart(5)}    `),
      drawn(curves.requests_per_second),
    ],
    [
      styled(` tok/s     ${count(traffic.tokens_per_second).padStart(5)}    `),
      drawn(curves.tokens_per_second),
    ],
    [
      styled(toLeft(` TTFT p50 ${ms(first.p50)} p95 ${ms(first.p95)}`, 26)),
      drawn(curves.first_byte_ms),
    ],
    [
      styled(` total p50 ${ms(total.p50)} p95 ${ms(total.p95)} p99 ${ms(total.p99)}    errors `),
      errors(scene),
    ],
  ]
}

const BAR_COLUMNS = 18

function moneyLines(scene: Scene): readonly Line[] {
  const { money } = scene.snapshot
  const { dot } = scene.glyphs
  const spent = (title: string, usd: string, share: number | null, caps: string | null): Line => [
    styled(` ${title} `),
    styled(toRight(cash(scene, usd), 10), 'bold'),
    ...(share === null || caps === null
      ? [styled('  no ceiling over all keys', 'dim')]
      : [
          styled('  '),
          gaugeOf(scene, share, BAR_COLUMNS),
          styled(` ${Math.round(share)}% of ${cash(scene, caps, ceilingPlaces(caps))} in caps`),
        ]),
  ]
  const { seconds, mean_day_usd, days } = money.runway
  const mean = days === 0 ? "today's pace" : `${days}-day mean`
  const lasts =
    seconds === null
      ? `runway ${scene.glyphs.none}`
      : `runway ${lasting(seconds)} (${mean} ${cash(scene, mean_day_usd)}/day)`
  const channels = money.channels.map(({ channel, last }) => `${channel} ${last ?? 'unused'}`)
  const alerts = [alert(scene) || 'no alert', money.marked ? 'marked' : 'not marked', ...channels]
  const rateSince = money.rate_set_at === null ? 'default' : `set ${money.rate_set_at.slice(0, 10)}`
  return [
    spent('today', money.spend_day_usd, money.day_percent, money.day_caps_usd),
    spent('month', money.spend_month_usd, money.month_percent, money.month_caps_usd),
    [
      styled(' balance '),
      styled(cash(scene, money.balance_usd), money.marked ? 'red' : 'bold'),
      styled(`  ${lasts}`),
    ],
    [styled(` ${alerts.join(` ${dot} `)}`)],
    [styled(` 1 USD = ${rateOf(scene)} (${rateSince})`)],
  ]
}

function requestTable(scene: Scene, room: number): readonly Line[] {
  const { rows, place } = windowOf(LIVE, scene.snapshot, scene.view, 'live', room - 1)
  if (rows.length === 0) return [[], [styled('   nothing in flight', 'dim')]]
  return table(scene, isWide(scene) ? wideColumns(scene) : narrowColumns(scene), rows, place)
}

type Columns = readonly Column<InFlightRecord>[]

const right = (
  title: string,
  width: number,
  text: (row: InFlightRecord) => string,
): Column<InFlightRecord> => ({ title, width, right: true, text })

/** The cell of the model also counts the hops that failed before. */
const modelOf = ({ glyphs }: Scene, { model, failed_attempts: failed }: InFlightRecord): string =>
  !failed ? model : `${model} ${glyphs.right} #${failed + 1}`

const cost = (scene: Scene): Column<InFlightRecord> => ({
  ...right(`COST ${signOf(scene)}`, 9, ({ cost_usd }) =>
    cost_usd === null ? scene.glyphs.none : amount(scene, cost_usd, 4),
  ),
  // Dimmed: an estimate until it is settled.
  tone: () => 'dim',
})

const stateColumn = ({ glyphs }: Scene): Column<InFlightRecord> => ({
  title: 'ST',
  width: 2,
  text: ({ state }) => glyphs.states[state] ?? '',
  tone: ({ state }) => (state === 'retrying' ? 'yellow' : undefined),
})

const isNarrow = ({ size }: Scene): boolean => size.columns < NARROW_COLUMNS

const isShared = ({ snapshot }: Scene): boolean => (snapshot.gateway.nodes?.length ?? 0) > 1

const nodeColumns = (scene: Scene, width: number): Columns =>
  isShared(scene) ? [{ title: 'NODE', width, text: ({ node }) => node ?? '' }] : []

const narrowColumns = (scene: Scene): Columns => [
  { title: 'KEY', width: isNarrow(scene) ? 12 : 14, text: ({ key_name }) => key_name },
  { title: 'MODEL', width: 0, text: (row) => modelOf(scene, row) },
  ...nodeColumns(scene, 8),
  right('ELAPSED', 7, ({ elapsed_ms }) => elapsed(elapsed_ms)),
  ...(isNarrow(scene) || isShared(scene)
    ? []
    : [right('IN', 6, (row) => tokens(scene, row.prompt_tokens))]),
  right('OUT', 6, (row) => output(scene, row)),
  cost(scene),
  stateColumn(scene),
]

const wideColumns = (scene: Scene): Columns => [
  { title: 'REQUEST', width: 8, text: ({ id }) => shortId(id), tone: () => 'dim' },
  { title: 'KEY', width: 15, text: ({ key_name }) => key_name },
  { title: 'MODEL', width: 0, text: (row) => modelOf(scene, row) },
  { title: 'USER', width: 10, text: ({ user }) => user ?? '' },
  ...nodeColumns(scene, 12),
  right('ELAPSED', 7, ({ elapsed_ms }) => elapsed(elapsed_ms)),
  right('TTFT', 6, ({ first_byte_ms: first }) =>
    first === null ? scene.glyphs.none : elapsed(first),
  ),
  right('IN', 7, (row) => tokens(scene, row.prompt_tokens)),
  right('OUT', 7, (row) => output(scene, row)),
  right('TOK/S', 5, ({ tokens_per_second: rate }) =>
    rate === null ? scene.glyphs.none : brief(rate),
  ),
  cost(scene),
  stateColumn(scene),
]

const tokens = ({ glyphs }: Scene, value: number | null): string =>
  value === null ? glyphs.none : value < 100_000 ? count(value) : brief(value)

/** Image requests produce no text tokens. */
const output = (scene: Scene, { state, completion_tokens }: InFlightRecord): string =>
  tokens(scene, state === 'image' ? null : completion_tokens)

/** `12:40:58 429 ci-evals   rate_limit_exceeded …` */
function errorLine({ glyphs }: Scene, one: LogRecord, columns: number): Line {
  // The message of a refusal is enough; a failure upstream also names the model.
  const details = [...(one.provider === null ? [] : [one.model]), one.message ?? '']
    .filter((text) => text !== '')
    .join(` ${glyphs.dot} `)
  return spread(
    [
      styled(` ${timeOfDay(one.created_at)} `, 'dim'),
      styled(String(one.status), one.status >= 500 ? 'red' : 'yellow'),
      styled(` ${toLeft(one.key_name, 14)} ${one.code ?? ''} `),
      styled(details, 'dim'),
    ],
    [styled(` ${shortId(one.id)} `, 'dim')],
    columns,
  )
}

const providerMark = ({ glyphs }: Scene, { state }: ProviderTrafficRecord): Piece => {
  if (state === 'ok') return styled(glyphs.served, 'green')
  if (state === 'degraded') return styled(glyphs.degraded, 'yellow')
  return state === 'down' ? styled(glyphs.off, 'red') : styled(glyphs.none, 'dim')
}

/** One line per provider, and a legend of their marks. */
export function providerLines(scene: Scene): readonly Line[] {
  const { glyphs, snapshot } = scene
  const lines = snapshot.providers.map((one): Line => {
    const failed = one.failed.map(
      ({ status, count }) => `${count} ${glyphs.times} ${status ?? 'no answer'}`,
    )
    return [
      styled(` ${toLeft(one.name, 11)} `),
      providerMark(scene, one),
      styled(` ${toLeft(percent(one.served_percent, glyphs.none), 6)}`),
      styled(` p95 ${toRight(one.p95_ms === null ? glyphs.none : elapsed(one.p95_ms), 6)}`),
      styled(`  ${count(one.in_flight)} in flight  `),
      styled(failed.join(', ') || glyphs.none, failed.length > 0 ? 'yellow' : 'dim'),
    ]
  })
  const legend = `${glyphs.served} ok  ${glyphs.degraded} degraded (<99% / 5m)  ${glyphs.off} down  ${glyphs.none} unused`
  return [...lines.slice(0, PROVIDER_LINES - 1), [styled(` ${legend}`, 'dim')]]
}
