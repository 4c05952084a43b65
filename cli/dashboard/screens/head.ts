/** The header of every screen: address and state of the gateway, and the line of tabs. */
import { ceilingPlaces, count, elapsed, lasting, percent, span, timeOfDay } from '../figures.ts'
import { bar, curve } from '../glyphs.ts'
import { type Line, type Piece, spread, styled, toLeft, widthOf } from '../line.ts'
import { listed } from '../lists.ts'
import { cash, isWide, orderOf, type Scene } from '../scene.ts'
import { isChart, listOf, SCREENS, TITLES } from '../view.ts'
import { bell } from './notices.ts'

/** One line: name, state, address, version, uptime; the time of the snapshot. */
export function nameLine(scene: Scene): Line {
  const { snapshot, size, view } = scene
  const { gateway, at } = snapshot
  const wide = size.columns >= 110
  const left: Line = [
    styled(' gatewayctl ', 'bold'),
    ...state(scene),
    styled(` ${wide ? gateway.base_url : gateway.listen}  v${gateway.version}  `),
    ...(wide ? nodesOf(scene) : []),
    styled(`up ${span(gateway.uptime_seconds)}`),
  ]
  const day = wide ? `${at.slice(0, 10)} ` : ''
  const right: Line = [
    ...(view.frozen === null ? [] : [styled(' FROZEN ', 'inverse'), styled(' ')]),
    ...bell(scene),
    styled(`${day}${timeOfDay(at)}Z  ${wide ? `${view.fps} fps  ` : ''}`),
    styled('? help ', 'dim'),
  ]
  return spread(left, right, size.columns)
}

/** "3 nodes, 1 silent": those that are not ended; "pid 8841" where it is one. */
function nodesOf({ snapshot }: Scene): readonly Piece[] {
  const held = (snapshot.gateway.nodes ?? []).filter(({ state: is }) => is !== 'ended')
  const silent = held.filter(({ state: is }) => is === 'silent').length
  if (held.length < 2) return [styled(`pid ${snapshot.gateway.pid}  `)]
  return [
    styled(`${held.length} nodes`),
    ...(silent === 0 ? [] : [styled(`, ${silent} silent`, 'yellow')]),
    styled('  '),
  ]
}

function state({ link, awayMs, snapshot, glyphs }: Scene): readonly Piece[] {
  if ('sinceMs' in link) {
    const how = link.kind === 'away' ? 'reconnecting' : 'not answering'
    return [styled(`${glyphs.off} ${how} ${Math.floor(awayMs / 1000)}s`, 'red')]
  }
  if (snapshot.gateway.draining) return [styled(`${glyphs.degraded} draining`, 'yellow')]
  if (!snapshot.gateway.healthy) return [styled(`${glyphs.served} unhealthy`, 'red')]
  return [styled(glyphs.served, 'green'), styled(' serving')]
}

/** `─[1 Live]─ 2 Keys ─ … ─ 14 of 14 · elapsed ↓ ─` */
export function tabs(scene: Scene): Line {
  const { view, glyphs, size, snapshot } = scene
  const { ids, sorts, total } = listed(snapshot, view)
  const what = isWide(scene) && view.screen === 'live' ? ' in flight' : ''
  const whose = scopeOf(scene)
  const counted = ` ${whose}${ids.length} of ${totalRows(scene, total)}${what} `
  const status =
    view.screen === 'spend'
      ? ` ${whose}${view.chart.metric} by ${view.chart.by}, a ${view.chart.bucket} `
      : view.screen === 'trend'
        ? ` ${whose}minutes, hours, days `
        : `${counted}${glyphs.dot} ${orderOf(scene, sorts)} `
  const isFiltered = !isChart(view.screen) && listOf(view).filter !== ''
  // A narrow terminal drops the sort order, then the count, then the names of the other screens; never whose they are.
  const [left, right] = [
    [tabNames(scene, true), tabsEnd(scene, status)] as const,
    ...(isFiltered || isChart(view.screen)
      ? []
      : [
          [tabNames(scene, true), tabsEnd(scene, counted)] as const,
          [
            tabNames(scene, true),
            tabsEnd(scene, whose === '' ? '' : ` ${whose}${ids.length} `),
          ] as const,
        ]),
    [tabNames(scene, false), tabsEnd(scene, status)] as const,
  ].find(([names, end], index, all) => {
    const fits = widthOf(names) + widthOf(end) <= size.columns
    return fits || index === all.length - 1
  }) ?? [[], []]
  const filled = size.columns - widthOf(left) - widthOf(right)
  return spread(
    [...left, styled(glyphs.rule.repeat(Math.max(0, filled)), 'dim')],
    right,
    size.columns,
  )
}

/** "all accounts · ", "account acme · "; empty where there is only one. */
function scopeOf({ view, snapshot, glyphs }: Scene): string {
  const { account, gateway, money } = snapshot
  if (gateway.accounts < 2) return ''
  const name = {
    live: account,
    log: account,
    trend: account,
    models: null,
    keys: money.account,
    spend: money.account,
  }[view.screen]
  return `${name === null ? 'all accounts' : `account ${shortName(name)}`} ${glyphs.dot} `
}

/** A longer name of an account is cut. */
const MAX_ACCOUNT_COLUMNS = 12

const shortName = (name: string): string =>
  toLeft(name, Math.min(MAX_ACCOUNT_COLUMNS, Bun.stringWidth(name)))

/** The screens, the current one in brackets; the others by name, or by number only. */
function tabNames({ view, glyphs }: Scene, withNames: boolean): Line {
  const names = SCREENS.flatMap((screen, index): Line => {
    const isHere = screen === view.screen
    const title = isHere || withNames ? `${index + 1} ${TITLES[screen]}` : `${index + 1}`
    return isHere
      ? [styled('[', 'dim'), styled(title, 'bold'), styled(']', 'dim'), styled(glyphs.rule, 'dim')]
      : [styled(` ${title} `), styled(glyphs.rule, 'dim')]
  })
  return [styled(glyphs.rule, 'dim'), ...names]
}

const tabsEnd = ({ glyphs }: Scene, text: string): Line => [
  styled(text),
  styled(glyphs.rule, 'dim'),
]

/** The snapshot may hold only a part of the rows. */
function totalRows({ view, snapshot }: Scene, shown: number): number {
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
      styled(' in flight '),
      styled(String(in_flight.count).padStart(3), 'bold'),
      styled(`   req/min ${count(traffic.requests_per_minute).padStart(4)}`),
      styled(`   tok/s ${count(traffic.tokens_per_second).padStart(5)}`),
      styled(`   p50 ${ms(traffic.total_ms.p50)}  p95 ${ms(traffic.total_ms.p95)}`),
      styled('   err '),
      errors(scene),
    ],
    spread(
      [
        styled(' req/s '),
        styled(curve(glyphs, traffic.curves.requests_per_second, 30), 'cyan'),
        styled('  TTFT '),
        styled(curve(glyphs, traffic.curves.first_byte_ms, 24), 'cyan'),
      ],
      [styled(snapshot.gateway.accounts > 1 ? 'all accounts, 5m ' : 'last 5m ', 'dim')],
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
  if (share === null || share < DEGRADED_PERCENT) return styled(text)
  return styled(text, share < BROKEN_PERCENT ? 'yellow' : 'red')
}

const BAR_COLUMNS = 12

function spentLine(scene: Scene): Line {
  const { money } = scene.snapshot
  return [
    styled(' today '),
    styled(cash(scene, money.spend_day_usd, places(scene)), 'bold'),
    ...spendShare(scene, money.day_percent, money.day_caps_usd, true),
    styled('   month '),
    styled(cash(scene, money.spend_month_usd, places(scene)), 'bold'),
    ...spendShare(scene, money.month_percent, money.month_caps_usd, false),
  ]
}

/** Rubles without kopecks, for lack of room. */
const places = ({ view }: Scene): number => (view.currency === 'usd' ? 2 : 0)

function spendShare(
  scene: Scene,
  share: number | null,
  caps: string | null,
  isLong: boolean,
): readonly Piece[] {
  if (share === null || caps === null) return []
  const drawn = gaugeOf(scene, share, scene.view.currency === 'usd' ? BAR_COLUMNS : 8)
  const of = cash(scene, caps, ceilingPlaces(caps))
  return [styled(' '), drawn, styled(isLong ? ` ${Math.round(share)}% of ${of} caps` : ` of ${of}`)]
}

const NEAR_PERCENT = 90

/** Yellow from 90 %, red from 100 %. */
export const gaugeOf = ({ glyphs }: Scene, share: number, columns: number): Piece =>
  styled(
    bar(glyphs, share, columns),
    share >= 100 ? 'red' : share >= NEAR_PERCENT ? 'yellow' : 'green',
  )

function balanceLine(scene: Scene): Line {
  const { money, gateway } = scene.snapshot
  const whose = gateway.accounts > 1 ? `${shortName(money.account)} ` : ''
  const left: Line = [
    styled(` ${whose}balance `),
    styled(cash(scene, money.balance_usd, places(scene)), money.marked ? 'red' : 'bold'),
    styled(`  runway ${runway(scene)}`),
    styled(`  ${alert(scene)}`),
  ]
  return spread(left, [styled(`$1 = ${rateOf(scene)} `)], scene.size.columns)
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
  const counts = [`${count(traffic.ok)} ok`, ...failed].join(` ${dot} `)
  const minutes = Math.max(1, Math.round(traffic.seconds / 60))
  return spread([styled(` last ${minutes} min  ${counts}`)], right, scene.size.columns)
}

export const spendRate = (scene: Scene): Line => [
  styled(`spend rate ${cash(scene, scene.snapshot.traffic.spend_per_hour_usd)}/h `),
]
