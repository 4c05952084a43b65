/** What was spent, by day and by key, model, provider or end user: a picture, and the same as a table and a file. */
import {
  type Day,
  dayOf,
  dayStart,
  later,
  monthStart,
  nextDay,
  readDay,
  readInstant,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import { readUsd, renderUsd, type UsdNanos } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { bars, legend } from '../draw/chart.ts'
import { UNBOOSTED } from '../draw/frame.ts'
import type { Show } from '../draw/on-page.ts'
import { choice, count, field, figures, foreign, rub, table, usd } from '../draw/parts.ts'
import { csvLine, fileOf } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { isUnreadable, readSince, readUntil } from './span.ts'

type Report = VerbRecord<'usage.report'>
/** Without what the log alone knows. */
type Sums = NonNullable<VerbRecord<'usage.sums'>>['keys']
type Row = (Report | Sums)['rows'][number]

interface Spent {
  /** The most expensive groups. */
  readonly whole: Report | Sums
  /** Of all groups together. */
  readonly days: Report | Sums
  /** Day by day, at least those of the groups that are drawn. */
  readonly split: Report | Sums
}

const DIMENSIONS = ['key', 'model', 'provider', 'user'] as const
type Dimension = (typeof DIMENSIONS)[number]

const MAX_ROWS = 100
/** As many colours as there are; the rest is one. */
const MAX_GROUPS = 5
const MAX_DAYS = 400

interface Asked {
  readonly by: Dimension
  readonly period: string
  readonly since: string
  readonly until: string
}

/** The period by its name, up to today or to the day that is stated; or by its days. */
function readAsked({ url, at }: Visit): Asked {
  const query = url.searchParams
  const by = DIMENSIONS.find((name) => name === query.get('by')) ?? 'key'
  const tomorrow = renderInstant(dayStart(nextDay(dayOf(at))))
  const since = readSince(query.get('since'))
  const until = readUntil(query.get('until')) ?? tomorrow
  if (since !== null) return { by, period: '', since, until }
  const period = query.get('period') ?? '30'
  const days = ['7', '90'].includes(period) ? Number(period) : 30
  const last = Math.min(dayOf(later(readInstant(until) ?? at, -1)), dayOf(at)) as Day
  const first = period === 'month' ? monthStart(last) : last - days + 1
  return { by, period, since: renderInstant(dayStart(first as Day)), until }
}

const report = (
  { act, account }: Visit,
  { by, since, until }: Asked,
  top?: number,
): Promise<Report> =>
  act('usage.report', { account: account.id, by, since, until, ...(top && { top }) })

export const showSpend: Show = async (visit) => {
  const { words } = visit
  const asked = readAsked(visit)
  const head = html`<div class="top"><h1>${words.spend.title}</h1>
<a href="${hrefOf('/cabinet/spend.csv', { ...Object.fromEntries(visit.url.searchParams), account: visit.account.id })}" hx-boost="false">${words.activity.csv}</a></div>
${filtersOf(visit, asked)}`
  if (isUnreadable(visit.url.searchParams)) {
    const content = html`${head}<p class="empty">${words.activity.noDay}</p>`
    return { title: words.spend.title, content }
  }
  return {
    title: words.spend.title,
    content: head,
    rest: () => drawSpend(visit, asked),
    meanwhile: () => drawMeanwhile(visit, asked),
  }
}

/** While the log is added up: of keys all that their sums know, else the days of the account. */
async function drawMeanwhile(visit: Visit, asked: Asked): Promise<Html> {
  const { words, act, account } = visit
  const { by, since, until } = asked
  const note = html`<p class="note apart" role="status">${words.spend.adding}</p>`
  const within = { account: account.id, since, until, top: MAX_ROWS, drawn: MAX_GROUPS }
  const sums = by === 'key' ? await act('usage.sums', within) : null
  if (sums === null) return html`${note}${await drawDays(visit, asked)}`
  const { keys: whole, days, split } = sums
  return html`${note}${await drawSpent(visit, asked, { whole, days, split })}`
}

/** By their sums; a member's are of the log themselves. */
async function drawDays(visit: Visit, { since, until }: Asked): Promise<Html | false> {
  const { words, language, role, act, account, at } = visit
  if (role === 'member') return false
  const from = dayOf(readInstant(since) ?? at)
  const end = dayOf(readInstant(until) ?? at)
  const days = (await act('accounts.days', { account: account.id })).flatMap((one) => {
    const day = readDay(one.day)
    return day === undefined
      ? []
      : [{ day, values: [Number(one.spend_usd)], shown: usd(one.spend_usd) }]
  })
  // A part of the period would be taken for all of it.
  if (days[0] === undefined || from < days[0].day) return false
  const within = days.filter(({ day }) => day >= from && day < end)
  return within.length > 0 && bars(language, words.spend.title, within)
}

async function drawSpend(visit: Visit, asked: Asked): Promise<Html> {
  const { act, account } = visit
  const { by, since, until } = asked
  const whole = await report(visit, asked, MAX_ROWS)
  const within = { account: account.id, by: 'day', since, until } as const
  const days = await act('usage.report', within)
  const among = drawnOf(whole).rows.map((row) => groupOf(by, row))
  const split = await act('usage.report', { ...within, then_by: by, among })
  return await drawSpent(visit, asked, { whole, days, split })
}

async function drawSpent(visit: Visit, asked: Asked, spent: Spent): Promise<Html> {
  const { words } = visit
  const { total } = spent.whole
  return html`${figures([
    {
      title: words.spend.total,
      value: usd(total.cost_usd),
      below: roubles(total),
      isFirst: true,
    },
    { title: words.spend.requests, value: count(total.requests) },
    {
      title: words.spend.tokens,
      value: tokens(total),
    },
    ...(await forecastOf(visit)),
  ])}
${total.requests === 0 ? html`<p class="empty">${words.spend.none}</p>` : pictureOf(visit, asked, spent)}`
}

/** Until the log has said it. */
const LATER = '…'

const tokens = (sum: Partial<Report['total']>): string =>
  sum.prompt_tokens === undefined || sum.completion_tokens === undefined
    ? LATER
    : `${count(sum.prompt_tokens)} / ${count(sum.completion_tokens)}`

const roubles = ({ cost_rub }: Partial<Report['total']>): string =>
  cost_rub === undefined ? LATER : rub(cost_rub)

function filtersOf({ words, url }: Visit, { by, period }: Asked): Html {
  const of = (name: string): string => url.searchParams.get(name) ?? ''
  return html`<form class="filters" method="get" action="/cabinet/spend"${UNBOOSTED}>
${choice(
  'by',
  words.spend.by,
  DIMENSIONS.map((name) => [name, words.spend.dimensions[name] ?? name]),
  by,
)}
${choice('period', words.spend.period, Object.entries(words.spend.periods), period)}
${field('since', words.activity.since, { value: of('since'), attributes: html` placeholder="${words.activity.dateHint}"` })}
${field('until', words.activity.until, { value: of('until'), attributes: html` placeholder="${words.activity.dateHint}"` })}
<button type="submit">${words.activity.filter}</button>
</form>`
}

/** At the pace of the last seven days; from the sums of days, which are there at once. */
async function forecastOf(visit: Visit) {
  const { words, at } = visit
  const days = await visit.act('accounts.days', { account: visit.account.id })
  const spent = (some: typeof days): bigint =>
    some.reduce((sum, { spend_usd }) => sum + (readUsd(spend_usd) ?? 0n), 0n)
  const first = renderDay(monthStart(dayOf(at)))
  const thisMonth = spent(days.filter(({ day }) => day >= first))
  const week = spent(days.slice(-8, -1))
  const left = BigInt(daysLeft(visit))
  const forecast = thisMonth + (week * left) / 7n
  if (week === 0n) return []
  return [
    {
      title: words.spend.forecast,
      value: usd(toCents(renderUsd(forecast as UsdNanos))),
      below: words.spend.forecastBelow,
    },
  ]
}

const toCents = (amount: string): string => Number(amount).toFixed(2)

/** After today. */
function daysLeft({ at }: Visit): number {
  const today = dayOf(at)
  let day = today + 1
  while (monthStart(day as Day) === monthStart(today)) day++
  return day - today - 1
}

const nameOf = ({ words }: Visit, by: Dimension, row: Row): string =>
  by === 'key'
    ? (row.key_name ?? '')
    : ((by === 'user' ? row.user : by === 'model' ? row.model : row.provider) ?? words.spend.nobody)

/** As many groups as have a colour. */
function drawnOf({ rows, other }: Spent['whole']) {
  const hasOthers = rows.length > MAX_GROUPS || other.groups > 0
  return { rows: rows.slice(0, hasOthers ? MAX_GROUPS - 1 : MAX_GROUPS), hasOthers }
}

function pictureOf(visit: Visit, asked: Asked, spent: Spent): Html {
  const { words } = visit
  const { by } = asked
  const { whole } = spent
  const title = words.spend.picture(words.spend.dimensions[by] ?? by)
  const { rows, hasOthers } = drawnOf(whole)
  const names = rows.map((row) => nameOf(visit, by, row))
  const shown = daysOf(visit, asked)
  return html`${shown.isCut && html`<p class="note">${words.spend.newest(MAX_DAYS)}</p>`}
${bars(visit.language, title, barsOf(shown, asked, spent))}
${legend(hasOthers ? [...names, words.spend.other] : names)}
${tableOf(visit, asked, whole)}`
}

/** What tells a group from the others. */
const groupOf = (by: Dimension, row: Row): string | null =>
  (by === 'key'
    ? row.key_id
    : by === 'user'
      ? row.user
      : by === 'model'
        ? row.model
        : row.provider) ?? null

interface Days {
  readonly first: number
  /** The day after the last. */
  readonly end: number
  readonly isCut: boolean
}

/** Of a longer time, the newest. */
function daysOf({ at }: Visit, { since, until }: Asked): Days {
  const last = Math.min(dayOf(later(readInstant(until) ?? at, -1)), dayOf(at))
  const end = nextDay(last as Day)
  const from = dayOf(readInstant(since) ?? at)
  return { first: Math.max(from, end - MAX_DAYS), end, isCut: from < end - MAX_DAYS }
}

function barsOf({ first, end }: Days, { by }: Asked, { whole, days, split }: Spent) {
  const { rows, hasOthers } = drawnOf(whole)
  const among = new Map(rows.map((row, place) => [groupOf(by, row), place]))
  const totals = new Map(days.rows.map((row) => [row.day, row]))
  const byDay = Map.groupBy<string | undefined, Row>(split.rows, ({ day }) => day)
  return Array.from({ length: Math.max(1, end - first) }, (_, place) => {
    const label = renderDay((first + place) as Day)
    const values = rows.map(() => 0)
    for (const row of byDay.get(label) ?? []) {
      const group = among.get(groupOf(by, row))
      if (group !== undefined) values[group] = Number(row.cost_usd)
    }
    const amount = totals.get(label)?.cost_usd ?? '0.00'
    const rest = Number(amount) - values.reduce((sum, value) => sum + value, 0)
    return {
      day: (first + place) as Day,
      values: hasOthers ? [...values, Math.max(0, rest)] : values,
      shown: usd(amount),
    }
  })
}

/** The groups that have a row, and one for all others together, where there are any. */
function withOthers<Of extends Report | Sums>(
  { words }: Visit,
  { rows, other }: Of,
): readonly Of['rows'][number][] {
  if (other.groups === 0) return rows
  const name = words.spend.other
  return [...rows, { ...other, key_name: name, model: name, provider: name, user: name }]
}

const tableOf = (visit: Visit, { by }: Asked, whole: Spent['whole']): Html => {
  const { words } = visit
  return table(
    words.spend.title,
    [
      { title: words.activity[by], cell: (row) => linkOf(visit, by, row) },
      { title: words.spend.requests, cell: ({ requests }) => count(requests), isNumber: true },
      {
        title: words.spend.tokens,
        cell: (row) => tokens(row),
        isNumber: true,
      },
      { title: words.activity.cost, cell: ({ cost_usd }) => usd(cost_usd), isNumber: true },
      { title: words.spend.rub, cell: (row) => roubles(row), isNumber: true },
      {
        title: words.spend.share,
        cell: ({ share_percent }) => (share_percent === null ? '–' : `${share_percent} %`),
        isNumber: true,
      },
    ],
    withOthers(visit, whole),
  )
}

function linkOf(visit: Visit, by: Dimension, row: Row): Html {
  const name = nameOf(visit, by, row)
  if (by === 'key' && row.key_id !== undefined) {
    return html`<a href="/cabinet/keys/${row.key_id}">${foreign(name)}</a>`
  }
  const value = by === 'user' ? row.user : by === 'model' ? row.model : row.provider
  return value == null
    ? html`<span class="dim">${name}</span>`
    : html`<a href="${hrefOf('/cabinet/activity', { [by]: value })}">${foreign(name)}</a>`
}

export const spendFile: Show = async (visit) => {
  const asked = readAsked(visit)
  const head = [
    asked.by,
    'requests',
    'prompt_tokens',
    'completion_tokens',
    'images',
    'cost_usd',
    'cost_rub',
  ]
  const rows = isUnreadable(visit.url.searchParams)
    ? []
    : withOthers(visit, await report(visit, asked))
  const lines = rows.map((row) =>
    csvLine([
      nameOf(visit, asked.by, row),
      row.requests,
      row.prompt_tokens,
      row.completion_tokens,
      row.images,
      row.cost_usd,
      row.cost_rub,
    ]),
  )
  return fileOf('spend.csv', csvLine(head) + lines.join(''))
}
