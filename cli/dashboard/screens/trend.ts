/** Screen 6: errors, latency, tokens and spend of minutes, hours and days; below, how each ceiling burns down. */
import type {
  GaugesRecord,
  KeyRowRecord,
  SpendGaugeRecord,
  TrendPointRecord,
} from '#operator/snapshot/record.ts'
import type { Tone } from '../../terminal/tone.ts'
import { brief, count, elapsed, percent, span } from '../figures.ts'
import { curve, toneOf } from '../glyphs.ts'
import { beside, type Line, type Piece, styled, toLeft, toRight, widthOf } from '../line.ts'
import { cash, exactly, ofAccount, rule, type Scene } from '../scene.ts'
import { gaugeOf, tabs } from './head.ts'

export function trendBody(scene: Scene, height: number): readonly Line[] {
  const all = inColumns(scene, [minutes(scene), ...periods(scene)])
  // The minutes are on screen 1 too.
  const fits = all.length + 1 + LEAST_CEILING_LINES <= height
  const drawn = fits ? all : inColumns(scene, periods(scene))
  const room = Math.max(0, height - 1 - drawn.length)
  return [tabs(scene), ...drawn, ...exactly(burnDown(scene, room), room)]
}

const LEAST_CEILING_LINES = 3

interface Block {
  readonly title: string
  readonly since: string
  /** Each with its name, its figure, and a curve. */
  readonly rows: readonly (readonly [
    name: string,
    figure: Piece,
    points: readonly (number | null)[],
  ])[]
}

const NAME_COLUMNS = 9
const FIGURE_COLUMNS = 13

/** From this width on two blocks stand beside each other, from the other one three. */
const TWO_COLUMNS = 110
export const THREE_COLUMNS = 156

function inColumns(scene: Scene, blocks: readonly Block[]): readonly Line[] {
  const { columns } = scene.size
  const across = columns >= THREE_COLUMNS ? 3 : columns >= TWO_COLUMNS ? 2 : 1
  const width = Math.floor(columns / across)
  const lines: Line[] = []
  for (let first = 0; first < blocks.length; first += across) {
    const beneath = blocks
      .slice(first, first + across)
      .map((block) => drawBlock(scene, block, width))
    const most = Math.max(...beneath.map((block) => block.length))
    for (let row = 0; row < most; row++) {
      lines.push(
        beneath.reduce<Line>(
          (left, block, place) =>
            place === 0 ? (block[row] ?? []) : beside(left, place * width, block[row] ?? []),
          [],
        ),
      )
    }
  }
  return lines
}

const drawBlock = (scene: Scene, { title, since, rows }: Block, width: number): readonly Line[] => [
  rule(scene, title, since, width - 1),
  ...rows.map(([name, figure, points]): Line => {
    const room = Math.max(4, width - 2 - NAME_COLUMNS - FIGURE_COLUMNS - 2)
    return [
      styled(` ${name.padEnd(NAME_COLUMNS)}`, 'dim'),
      { ...figure, text: toRight(figure.text, FIGURE_COLUMNS) },
      styled('  '),
      styled(curve(scene.glyphs, stretched(points, room), room), 'cyan'),
    ]
  }),
]

/** Each point over several columns, where there is room. */
function stretched(points: readonly (number | null)[], room: number): readonly (number | null)[] {
  const each = Math.floor(room / Math.max(1, points.length))
  return each < 2 ? points : points.flatMap((point) => Array<number | null>(each).fill(point))
}

const ms = ({ glyphs }: Scene, value: number | null): string =>
  value === null ? glyphs.none : elapsed(value)

const DEGRADED_PERCENT = 1
const BROKEN_PERCENT = 10

function share(scene: Scene, value: number | null): Piece {
  const tone =
    (value ?? 0) >= BROKEN_PERCENT ? 'red' : (value ?? 0) >= DEGRADED_PERCENT ? 'yellow' : undefined
  return styled(percent(value, scene.glyphs.none), tone)
}

/** The last hours, in so many columns. */
export function hoursBlock(scene: Scene, width: number): readonly Line[] {
  const [hours] = periods(scene)
  return hours === undefined ? [] : drawBlock(scene, hours, width)
}

function minutes(scene: Scene): Block {
  const { traffic, gateway } = scene.snapshot
  const { curves } = traffic
  return {
    // Whichever account is shown.
    title: gateway.accounts < 2 ? 'minutes' : `minutes ${scene.glyphs.dot} all accounts`,
    since: `last ${Math.max(1, Math.round(traffic.seconds / 60))} min`,
    rows: [
      ['requests', styled(`${count(traffic.requests_per_minute)}/min`), curves.requests_per_second],
      ['errors', share(scene, traffic.error_percent), []],
      ['TTFT', styled(`p50 ${ms(scene, traffic.first_byte_ms.p50)}`), curves.first_byte_ms],
      ['tokens', styled(`${count(traffic.tokens_per_second)}/s`), curves.tokens_per_second],
      ['spend', styled(`${cash(scene, traffic.spend_per_hour_usd)}/h`), []],
    ],
  }
}

function periods(scene: Scene): readonly Block[] {
  const { trends } = scene.snapshot
  if (trends === null) return [{ title: 'hours and days', since: 'reading the log', rows: [] }]
  return [
    periodOf(scene, 'hours', `last ${trends.hours.length} h`, trends.hours),
    periodOf(scene, 'days', `last ${trends.days.length} d`, trends.days),
  ]
}

/** The figures are those of the whole period. */
function periodOf(
  scene: Scene,
  title: string,
  since: string,
  points: readonly TrendPointRecord[],
): Block {
  const sum = (of: (point: TrendPointRecord) => number): number =>
    points.reduce((total, point) => total + of(point), 0)
  const requests = sum((point) => point.requests)
  const failed = sum((point) => point.failed)
  const firsts = points.flatMap(({ first_byte_mean_ms: mean, requests: many }) =>
    mean === null ? [] : [{ mean, many }],
  )
  const answered = firsts.reduce((total, { many }) => total + many, 0)
  const mean =
    answered === 0
      ? null
      : firsts.reduce((total, { mean: one, many }) => total + one * many, 0) / answered
  return {
    title,
    since,
    rows: [
      ['requests', styled(count(requests)), points.map((point) => point.requests)],
      [
        'errors',
        share(scene, requests === 0 ? null : Math.round((1_000 * failed) / requests) / 10),
        points.map((point) => point.failed),
      ],
      ['TTFT', styled(`mean ${ms(scene, mean)}`), points.map((point) => point.first_byte_mean_ms)],
      ['tokens', styled(brief(sum((point) => point.tokens))), points.map((point) => point.tokens)],
      [
        'spend',
        styled(cash(scene, sum((point) => Number(point.spend_usd)).toFixed(9))),
        points.map((point) => Number(point.spend_usd)),
      ],
    ],
  }
}

interface Ceiling {
  readonly name: string
  readonly period: 'day' | 'month'
  readonly gauge: SpendGaugeRecord & { readonly limit_usd: string; readonly percent: number }
}

const ceilingsOf = (name: string, { spend_day, spend_month }: GaugesRecord): readonly Ceiling[] =>
  (['day', 'month'] as const).flatMap((period) => {
    const gauge = period === 'day' ? spend_day : spend_month
    const { limit_usd, percent: used } = gauge
    return limit_usd === null || used === null
      ? []
      : [{ name, period, gauge: { ...gauge, limit_usd, percent: used } }]
  })

/** The fullest first, as many as there is room for. */
function burnDown(scene: Scene, room: number): readonly Line[] {
  const { keys, money } = scene.snapshot
  const all = keys.rows
    .flatMap((key) => ceilingsOf(key.name, key))
    .concat(money.gauges === null ? [] : ceilingsOf(`account ${money.account}`, money.gauges))
    .toSorted((a, b) => b.gauge.percent - a.gauge.percent)
  const shown = all.slice(0, Math.max(0, room - 1))
  const more = all.length > shown.length ? `${shown.length} of ${all.length}` : ''
  return [
    rule(scene, ofAccount(scene, 'ceilings'), more),
    ...(all.length === 0 ? [[styled('   no key has a spend ceiling', 'dim')]] : []),
    ...drawCeilings(scene, shown),
  ]
}

/** The ceilings of one key, for its page. */
export const ceilingLines = (scene: Scene, key: KeyRowRecord): readonly Line[] =>
  drawCeilings(scene, ceilingsOf(key.name, key))

/** The bars are as long as the longest line leaves them: when it is used up is never cut for them. */
function drawCeilings(scene: Scene, ceilings: readonly Ceiling[]): readonly Line[] {
  const { columns } = scene.size
  const names = columns < 80 ? 12 : 20
  const rows = ceilings.map(({ name, period, gauge }) => ({
    name: styled(` ${toLeft(name, names)} `),
    period: styled(period.padEnd(6), 'dim'),
    gauge,
    share: styled(toRight(percent(gauge.percent, ''), 7), toneOf(gauge.level)),
    of: styled(` ${cash(scene, gauge.spent_usd)} of ${cash(scene, gauge.limit_usd)}  `),
    lasts: lasts(scene, period, gauge),
  }))
  const rooms = rows.map(({ name, period, share, of, lasts: { short } }) =>
    widthOf([name, period, share, of, styled(short)]),
  )
  const most = columns < 80 ? 8 : columns < 110 ? 14 : 28
  const bars = Math.max(0, Math.min(most, columns - Math.max(0, ...rooms)))
  return rows.map(({ name, period, gauge, share, of, lasts: { long, short, least, tone } }) => {
    const drawn = bars === 0 ? [] : [gaugeOf(scene, gauge.percent, bars)]
    const left: Line = [name, period, ...drawn, share, of]
    const text = [long, short].find((one) => widthOf(left) + one.length <= columns)
    return [...left, styled(text ?? least, tone)]
  })
}

/** When what is left is used up, at the pace of this day or month so far. */
function lasts(
  { snapshot }: Scene,
  period: Ceiling['period'],
  { spent_usd, limit_usd, resets_in_seconds: resets }: Ceiling['gauge'],
): { readonly [form in 'long' | 'short' | 'least']: string } & { readonly tone: Tone } {
  const ends = `resets in ${span(resets)}`
  const left = Number(limit_usd) - Number(spent_usd)
  if (left <= 0) {
    return { long: `used up, ${ends}`, short: 'used up', least: 'used up', tone: 'red' }
  }
  const passed = Math.max(60, secondsInto(period, snapshot.at))
  const pace = Number(spent_usd) / passed
  if (pace === 0 || left / pace >= resets) {
    return { long: `lasts until it ${ends}`, short: 'lasts', least: 'lasts', tone: 'dim' }
  }
  const rest = `~${span(left / pace)}`
  const short = `used up in ${rest}`
  return { long: `${short} at this pace, ${ends}`, short, least: rest, tone: 'yellow' }
}

const DAY_SECONDS = 86_400

/** How much of the UTC day or month has passed. */
function secondsInto(period: Ceiling['period'], at: string): number {
  const [hours = 0, minute = 0, seconds = 0] = at.slice(11, 19).split(':').map(Number)
  const ofDay = hours * 3_600 + minute * 60 + seconds
  return period === 'day' ? ofDay : (Number(at.slice(8, 10)) - 1) * DAY_SECONDS + ofDay
}
