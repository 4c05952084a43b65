/** The header of every screen: address and state of the gateway, and the line of tabs. */
import { count, elapsed, lasting, percent, span, timeOfDay } from '../figures.ts'
import { bar, curve } from '../glyphs.ts'
import { type Line, type Piece, say, spread, widthOf } from '../line.ts'
import { listed } from '../lists.ts'
import { cash, isWide, orderOf, type Scene } from '../scene.ts'
import { listOf, SCREENS, TITLES } from '../view.ts'

/** One line: name, state, address, version, uptime; the time of the snapshot. */
export function nameLine(scene: Scene): Line {
  const { snapshot, size, view } = scene
  const { gateway, at } = snapshot
  const wide = size.columns >= 110
  const left: Line = [
    say(' gatewayctl ', 'bold'),
    ...state(scene),
    say(` ${wide ? gateway.base_url : gateway.listen}  v${gateway.version}  `),
    say(`${wide ? `pid ${gateway.pid}  ` : ''}up ${span(gateway.uptime_seconds)}`),
  ]
  const day = wide ? `${at.slice(0, 10)} ` : ''
  const right: Line = [
    ...(view.frozen === null ? [] : [say(' FROZEN ', 'inverse'), say(' ')]),
    say(`${day}${timeOfDay(at)}Z  ${wide ? `${view.fps} fps  ` : ''}`),
    say('? help ', 'dim'),
  ]
  return spread(left, right, size.columns)
}

function state({ link, awayMs, snapshot, glyphs }: Scene): readonly Piece[] {
  if ('sinceMs' in link) {
    const how = link.kind === 'away' ? 'reconnecting' : 'not answering'
    return [say(`${glyphs.off} ${how} ${Math.floor(awayMs / 1000)}s`, 'red')]
  }
  if (snapshot.gateway.draining) return [say(`${glyphs.degraded} draining`, 'yellow')]
  if (!snapshot.gateway.healthy) return [say(`${glyphs.served} unhealthy`, 'red')]
  return [say(glyphs.served, 'green'), say(' serving')]
}

/** `─[1 Live]─ 2 Keys ─ … ─ 14 of 14 · elapsed ↓ ─` */
export function tabs(scene: Scene): Line {
  const { view, glyphs, size, snapshot } = scene
  const { ids, sorts, total } = listed(snapshot, view)
  const what = isWide(scene) && view.screen === 'live' ? ' in flight' : ''
  const counted = ` ${ids.length} of ${rowsBehind(scene, total)}${what} `
  const told =
    view.screen === 'spend'
      ? ` ${view.chart.metric} by ${view.chart.by}, a ${view.chart.bucket} `
      : `${counted}${glyphs.dot} ${orderOf(scene, sorts)} `
  const isFiltered = view.screen !== 'spend' && listOf(view).filter !== ''
  // A narrow terminal drops the sort order, then the names of the other screens.
  const [left, right] = [
    [named(scene, true), ended(scene, told)] as const,
    ...(isFiltered || view.screen === 'spend'
      ? []
      : [[named(scene, true), ended(scene, counted)] as const]),
    [named(scene, false), ended(scene, told)] as const,
  ].find(([names, end], index, all) => {
    const fits = widthOf(names) + widthOf(end) <= size.columns
    return fits || index === all.length - 1
  }) ?? [[], []]
  const filled = size.columns - widthOf(left) - widthOf(right)
  return spread([...left, say(glyphs.rule.repeat(Math.max(0, filled)), 'dim')], right, size.columns)
}

/** The screens, the current one in brackets; the others by name, or by number only. */
function named({ view, glyphs }: Scene, withNames: boolean): Line {
  const names = SCREENS.flatMap((screen, index): Line => {
    const isHere = screen === view.screen
    const title = isHere || withNames ? `${index + 1} ${TITLES[screen]}` : `${index + 1}`
    return isHere
      ? [say('[', 'dim'), say(title, 'bold'), say(']', 'dim'), say(glyphs.rule, 'dim')]
      : [say(` ${title} `), say(glyphs.rule, 'dim')]
  })
  return [say(glyphs.rule, 'dim'), ...names]
}

const ended = ({ glyphs }: Scene, text: string): Line => [say(text), say(glyphs.rule, 'dim')]

/** The snapshot may hold only a part of the rows. */
function rowsBehind({ view, snapshot }: Scene, shown: number): number {
  if (view.screen === 'live') return Math.max(shown, snapshot.in_flight.count)
  return view.screen === 'keys' ? Math.max(shown, snapshot.keys.total) : shown
}

/** Four lines: rates, sparklines, spend, balance. */
export function summary(scene: Scene): readonly Line[] {
  const { snapshot, glyphs, size } = scene
  const { traffic, in_flight } = snapshot
  const none = glyphs.none
  const ms = (value: number | null): string => (value === null ? none : elapsed(value))
  return [
    [
      say(' in flight '),
      say(String(in_flight.count).padStart(3), 'bold'),
      say(`   req/min ${count(traffic.requests_per_minute).padStart(4)}`),
      say(`   tok/s ${count(traffic.tokens_per_second).padStart(5)}`),
      say(`   p50 ${ms(traffic.total_ms.p50)}  p95 ${ms(traffic.total_ms.p95)}`),
      say('   err '),
      errors(scene),
    ],
    spread(
      [
        say(' req/s '),
        say(curve(glyphs, traffic.curves.requests_per_second, 30), 'cyan'),
        say('  TTFT '),
        say(curve(glyphs, traffic.curves.first_byte_ms, 24), 'cyan'),
      ],
      [say('last 5m ', 'dim')],
      size.columns,
    ),
    spentLine(scene),
    balanceLine(scene),
  ]
}

const DEGRADED_PERCENT = 1
const BROKEN_PERCENT = 10

export function errors({ snapshot, glyphs }: Scene): Piece {
  const { error_percent: share } = snapshot.traffic
  const text = percent(share, glyphs.none)
  if (share === null || share < DEGRADED_PERCENT) return say(text)
  return say(text, share < BROKEN_PERCENT ? 'yellow' : 'red')
}

const BAR_COLUMNS = 12

function spentLine(scene: Scene): Line {
  const { money } = scene.snapshot
  return [
    say(' today '),
    say(cash(scene, money.spend_day_usd, places(scene)), 'bold'),
    ...capped(scene, money.day_percent, money.day_caps_usd, true),
    say('   month '),
    say(cash(scene, money.spend_month_usd, places(scene)), 'bold'),
    ...capped(scene, money.month_percent, money.month_caps_usd, false),
  ]
}

/** Rubles without kopecks, for lack of room. */
const places = ({ view }: Scene): number => (view.currency === 'usd' ? 2 : 0)

function capped(
  scene: Scene,
  share: number | null,
  caps: string | null,
  isLong: boolean,
): readonly Piece[] {
  if (share === null || caps === null) return []
  const drawn = gaugeOf(scene, share, scene.view.currency === 'usd' ? BAR_COLUMNS : 8)
  const of = cash(scene, caps, 0)
  return [say(' '), drawn, say(isLong ? ` ${Math.round(share)}% of ${of} caps` : ` of ${of}`)]
}

const NEAR_PERCENT = 90

/** Yellow from 90 %, red from 100 %. */
export const gaugeOf = ({ glyphs }: Scene, share: number, columns: number): Piece =>
  say(
    bar(glyphs, share, columns),
    share >= 100 ? 'red' : share >= NEAR_PERCENT ? 'yellow' : 'green',
  )

function balanceLine(scene: Scene): Line {
  const { money } = scene.snapshot
  const left: Line = [
    say(' balance '),
    say(cash(scene, money.balance_usd, places(scene)), money.marked ? 'red' : 'bold'),
    say(`  runway ${runway(scene)}`),
    say(`  ${alert(scene)}`),
  ]
  return spread(left, [say(`$1 = ${rateOf(scene)} `)], scene.size.columns)
}

/** "92.50 ₽" */
export const rateOf = ({ snapshot, glyphs }: Scene): string =>
  `${Number(snapshot.money.rub_per_usd).toFixed(2)} ${glyphs.ruble}`

function runway(scene: Scene): string {
  const { seconds, mean_day_usd } = scene.snapshot.money.runway
  if (seconds === null) return scene.glyphs.none
  return `${lasting(seconds)} @ ${cash(scene, mean_day_usd, places(scene))}/day`
}

export function alert(scene: Scene): string {
  const { threshold_usd, marked } = scene.snapshot.money
  if (threshold_usd === null) return ''
  return `alert < ${cash(scene, threshold_usd, places(scene))}${marked ? ' (low)' : ''}`
}

/** `last 5 min  1 061 ok · 9 × 429 · 2 × 502` */
export function countsLine(scene: Scene, right: Line): Line {
  const { traffic } = scene.snapshot
  const { dot, times } = scene.glyphs
  const failed = traffic.failed.map(({ status, count }) => `${count} ${times} ${status}`)
  const told = [`${count(traffic.ok)} ok`, ...failed].join(` ${dot} `)
  const minutes = Math.max(1, Math.round(traffic.seconds / 60))
  return spread([say(` last ${minutes} min  ${told}`)], right, scene.size.columns)
}

export const spendRate = (scene: Scene): Line => [
  say(`spend rate ${cash(scene, scene.snapshot.traffic.spend_per_hour_usd)}/h `),
]
