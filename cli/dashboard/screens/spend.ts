/** Screen 4: spend, requests or tokens of the last days or hours, grouped, and the latest ledger entries. */
import type { EntryRecord } from '#operator/ledger.ts'
import type { ChartGroup, ChartPoint, ChartRecord } from '#operator/snapshot/chart.ts'
import { brief, count, timeOfDay } from '../figures.ts'
import { curve, toneOf } from '../glyphs.ts'
import { type Line, styled, toLeft, toRight } from '../line.ts'
import { amount, cash, exactly, rule, type Scene } from '../scene.ts'
import { summary, tabs } from './head.ts'

const LEDGER_LINES = 4

export function spendBody(scene: Scene, height: number): readonly Line[] {
  const [, , today, balance] = summary(scene)
  const head = [today ?? [], balance ?? [], ...accountLines(scene), tabs(scene)]
  const { chart } = scene
  const room = height - head.length
  if (chart === null) return [...head, ...exactly([[], [styled('   loading…', 'dim')]], room)]
  const groups = groupLines(scene, chart)
  const ledger = [rule(scene, 'ledger', 'newest first'), ...ledgerLines(scene, chart.ledger)]
  const bars = Math.max(3, room - groups.length - LEDGER_LINES - 1)
  return [
    ...head,
    ...exactly(
      [...barLines(scene, chart, bars), ...groups, ...exactly(ledger, LEDGER_LINES + 1)],
      room,
    ),
  ]
}

/** What is used of the account's own limits. */
function accountLines({ snapshot, glyphs }: Scene): readonly Line[] {
  const { account, gauges } = snapshot.money
  if (gauges === null) return []
  const counted = [
    ['rpm', gauges.minute],
    ['rpd', gauges.day],
    ['tpm', gauges.tokens],
    ['at once', gauges.concurrency],
  ] as const
  const parts = counted.flatMap(([unit, { used, limit, level }]) =>
    limit === null
      ? []
      : [
          styled(`${brief(used ?? 0)}/${brief(limit)} ${unit}`, toneOf(level)),
          styled(` ${glyphs.dot} `),
        ],
  )
  return parts.length === 0 ? [] : [[styled(` account ${account}  `, 'dim'), ...parts.slice(0, -1)]]
}

const pointValue = (metric: ChartRecord['metric'], point: ChartPoint): number =>
  metric === 'spend' ? Number(point.spend_usd) : point[metric]

const formatValue = (scene: Scene, metric: ChartRecord['metric'], point: ChartPoint): string =>
  metric === 'spend' ? cash(scene, point.spend_usd) : count(point[metric])

const AXIS_COLUMNS = 9

/** Bars in eighths of a line, scaled to the available height, and a line of labels. */
function barLines(scene: Scene, chart: ChartRecord, height: number): readonly Line[] {
  const { glyphs, size } = scene
  const values = chart.total.points.map((point) => pointValue(chart.metric, point))
  const most = Math.max(...values)
  const width = Math.max(2, Math.floor((size.columns - AXIS_COLUMNS - 2) / values.length))
  const steps = glyphs.steps.length
  const cells = values.map((value) => (most === 0 ? 0 : (value / most) * (height - 1)))
  const lines = Array.from({ length: height - 1 }, (_, row): Line => {
    const floor = height - 2 - row
    const drawn = cells.map((cell) => {
      const part = Math.min(1, Math.max(0, cell - floor))
      const glyph =
        part === 0 ? ' ' : (glyphs.steps[Math.max(0, Math.ceil(part * steps) - 1)] ?? '')
      return ` ${glyph.repeat(width - 1)}`
    })
    return [
      styled(toRight(axis(scene, chart.metric, most, row), AXIS_COLUMNS)),
      styled(drawn.join(''), 'cyan'),
    ]
  })
  const names = chart.labels.map((label) =>
    toRight(chart.bucket === 'day' ? label.slice(8, 10) : label.slice(11, 13), width),
  )
  return [...lines, [styled(' '.repeat(AXIS_COLUMNS)), styled(names.join(''), 'dim')]]
}

/** The top line is labelled with the highest value. */
const axis = (scene: Scene, metric: ChartRecord['metric'], most: number, row: number): string =>
  row > 0 ? '' : metric === 'spend' ? amount(scene, most.toFixed(9)) : brief(most)

/** The largest groups, all others, and the total, each with a sparkline. */
function groupLines(scene: Scene, chart: ChartRecord): readonly Line[] {
  const line = (name: string, group: ChartGroup): Line => [
    styled(` ${toLeft(name, 24)} `),
    styled(toRight(formatValue(scene, chart.metric, group.total), 14), 'bold'),
    styled('  '),
    styled(
      curve(
        scene.glyphs,
        group.points.map((point) => pointValue(chart.metric, point)),
        24,
      ),
      'cyan',
    ),
  ]
  const most = scene.size.rows >= 34 ? 8 : 5
  return [
    rule(scene, `by ${chart.by}`, 'm metric  b group by  d day/hour'),
    ...chart.groups.slice(0, most).map((group) => line(group.name ?? '(none)', group)),
    ...(chart.other === null ? [] : [line(`other (${chart.other.groups})`, chart.other)]),
    line('total', chart.total),
  ]
}

const ledgerLines = (scene: Scene, entries: readonly EntryRecord[]): readonly Line[] =>
  entries.map((entry) => [
    styled(` ${entry.at.slice(5, 10)} ${timeOfDay(entry.at)} `, 'dim'),
    styled(`${toLeft(entry.kind, 8)} `),
    styled(toRight(cash(scene, entry.amount_usd, entry.kind === 'charge' ? 6 : 2), 16)),
    styled(`  ${entry.generation_id ?? entry.note ?? ''}`, 'dim'),
  ])
