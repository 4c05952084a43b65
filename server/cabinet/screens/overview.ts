/** The first screen: how much there is, what is spent and refused, and which keys come near a limit. */
import { DAY_MS, type Day, later, readDay, renderInstant } from '#domain/clock.ts'
import type { GaugeRecord, KeyRowRecord } from '#operator/snapshot/record.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { bars } from '../draw/chart.ts'
import {
  about,
  count,
  type Figure,
  facts,
  figures,
  foreign,
  meter,
  type Sheet,
  span,
  table,
  time,
  usd,
} from '../draw/parts.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { reasonOf } from './activity.ts'
import { spent, usedOf } from './keys.ts'

type Overview = VerbRecord<'accounts.overview'>

export async function showOverview(visit: Visit): Promise<Sheet> {
  const { words, account } = visit
  const overview = await visit.act('accounts.overview', { account: account.id })
  return {
    title: words.screens.overview,
    live: hrefOf('/cabinet/live', { account: account.id }),
    content: html`<h1 class="unseen">${words.screens.overview}</h1>
${warningOf(visit, overview)}
${figures(figuresOf(visit, overview))}
${await noticesOf(visit)}
${daysOf(visit, overview)}`,
    // A day of the log is looked through.
    rest: async () =>
      html`${refusedOf(visit, await visit.act('accounts.refusals', { account: account.id }))}
${boundsOf(visit, overview)}
${nearestOf(visit, overview.nearest)}`,
  }
}

function warningOf(
  { words: { overview: words }, role }: Visit,
  { money, keys, days }: Overview,
): Html | null {
  if (keys === 0 && role !== 'viewer') {
    const isUsed = days.some(({ requests }) => requests > 0)
    return html`<p class="empty">${isUsed ? words.noKey : words.start} <a href="/cabinet/keys/new">${words.makeKey}</a></p>`
  }
  if (money === null) return null
  if (money.balance_usd.startsWith('-') || Number(money.balance_usd) === 0) {
    return html`<p class="problem">${words.empty}</p>`
  }
  const { threshold_usd, marked } = money
  return marked && threshold_usd !== null
    ? html`<p class="warning">${words.low(usd(threshold_usd))}</p>`
    : null
}

function figuresOf(visit: Visit, overview: Overview): readonly Figure[] {
  const { words } = visit
  const { money, figures: now, keys } = overview
  const shareOf = (
    gauge: { readonly limit_usd: string | null } | undefined,
    percent: number | null,
    caps: string | null,
  ) => {
    if (percent === null) return undefined
    const said = gauge?.limit_usd == null ? words.overview.ofCaps : words.overview.ofCeiling
    return said(percent, usd(caps ?? '0'))
  }
  const live = (name: string, value: string): Html =>
    html`<span data-figure="${name}">${value}</span>`
  const counts: readonly Figure[] = [
    { title: words.overview.inFlight, value: live('in_flight', count(now.in_flight)) },
    { title: words.overview.keys, value: count(keys) },
  ]
  if (money === null) {
    return [
      {
        title: words.overview.today,
        value: live('spend_day', usd(now.spend_day_usd)),
        isFirst: true,
      },
      ...counts,
    ]
  }
  return [
    {
      title: words.overview.balance,
      value: live('balance', usd(money.balance_usd)),
      below: runwayOf(visit, money),
      isFirst: true,
    },
    {
      title: words.overview.today,
      value: live('spend_day', usd(money.spend_day_usd)),
      below: shareOf(money.gauges?.spend_day, money.day_percent, money.day_caps_usd),
    },
    {
      title: words.overview.month,
      value: usd(money.spend_month_usd),
      below: shareOf(money.gauges?.spend_month, money.month_percent, money.month_caps_usd),
    },
    ...counts,
  ]
}

const runwayOf = ({ words }: Visit, { runway }: NonNullable<Overview['money']>): string =>
  runway.seconds === null
    ? words.overview.noRunway
    : words.overview.runway(span(runway.seconds, words.span), about(runway.mean_day_usd))

/** Two pictures of the same days, and one table of both; nothing of an account that nobody has used. */
function daysOf({ words: { overview: words }, language }: Visit, { days }: Overview): Html | null {
  if (days.every(({ requests: amount }) => amount === 0)) return null
  const spends = days.map(({ day, spend_usd }) => ({
    day: readDay(day) as Day,
    values: [Number(spend_usd)],
    shown: usd(spend_usd),
  }))
  const requests = days.map(({ day, requests: amount }) => ({
    day: readDay(day) as Day,
    values: [amount],
    shown: count(amount),
  }))
  return html`<div class="pair">
<section><h2>${words.spend}</h2>${bars(language, words.spend, spends)}</section>
<section><h2>${words.requests}</h2>${bars(language, words.requests, requests)}</section>
</div>
<details><summary>${words.numbers}</summary>
${table(
  words.spend,
  [
    { title: words.day, cell: ({ day }) => day },
    { title: words.admitted, cell: ({ requests: amount }) => count(amount), isNumber: true },
    { title: words.amount, cell: ({ spend_usd }) => usd(spend_usd), isNumber: true },
  ],
  days.toReversed(),
)}</details>`
}

/** What all keys together may do, and how much of it is used; nothing where that is everything, and for who does not see the whole. */
function boundsOf(visit: Visit, { money }: Overview): Html | null {
  const { words } = visit
  const gauges = money?.gauges ?? null
  if (gauges === null) return null
  const { spend_day, spend_month, concurrency } = gauges
  const window = (title: string, { used, limit }: GaugeRecord) =>
    [title, limit === null ? null : usedOf(visit, title, used ?? 0, limit)] as const
  return html`<h2>${words.overview.bounds}</h2>
${facts([
  [words.keys.day, spent(visit, words.keys.day, spend_day.spent_usd, spend_day.limit_usd)],
  [words.keys.month, spent(visit, words.keys.month, spend_month.spent_usd, spend_month.limit_usd)],
  window(words.keys.minute, gauges.minute),
  window(words.keys.perDay, gauges.day),
  window(words.keys.tokens, gauges.tokens),
  [
    words.keys.concurrency,
    usedOf(visit, words.keys.concurrency, concurrency.used ?? 0, concurrency.limit),
  ],
])}`
}

function nearestOf({ words }: Visit, rows: readonly KeyRowRecord[]): Html | null {
  const limited = rows.filter(({ percent }) => percent !== null)
  if (limited.length === 0) return null
  return html`<h2>${words.overview.nearest}</h2>
${table(
  words.overview.nearest,
  [
    {
      title: words.keys.name,
      cell: ({ id, name }) => html`<a href="/cabinet/keys/${id}">${foreign(name)}</a>`,
    },
    {
      title: words.keys.day,
      cell: ({ spend_day: { spent_usd, limit_usd, percent } }) =>
        html`${limit_usd === null ? usd(spent_usd) : words.keys.of(usd(spent_usd), usd(limit_usd))}${meter(words.keys.day, percent)}`,
    },
    {
      title: words.keys.month,
      cell: ({ spend_month: { spent_usd, limit_usd, percent } }) =>
        html`${limit_usd === null ? usd(spent_usd) : words.keys.of(usd(spent_usd), usd(limit_usd))}${meter(words.keys.month, percent)}`,
    },
    {
      title: words.keys.minute,
      cell: ({ minute: { used, limit, percent } }) =>
        limit === null
          ? html`<span class="dim">–</span>`
          : html`${words.keys.of(count(used ?? 0), count(limit))}${meter(words.keys.minute, percent)}`,
    },
    ...(limited.some(({ tokens }) => tokens.limit !== null)
      ? [
          {
            title: words.keys.tokens,
            cell: ({ tokens: { used, limit, percent } }: KeyRowRecord) =>
              limit === null
                ? html`<span class="dim">–</span>`
                : html`${words.keys.of(count(used ?? 0), count(limit))}${meter(words.keys.tokens, percent)}`,
          },
        ]
      : []),
  ],
  limited,
)}`
}

const NOTICED_MS = 30 * DAY_MS
const MAX_NOTICES = 6

/** What the account was told of lately, the newest first; nothing where that is nothing. */
async function noticesOf(visit: Visit): Promise<Html | null> {
  const { words, act, account, at } = visit
  const since = renderInstant(later(at, -NOTICED_MS))
  const all = await act('notices.list', { account: account.id, limit: MAX_NOTICES })
  const lately = all.filter(({ raised_at }) => raised_at > since)
  if (lately.length === 0) return null
  return html`<h2>${words.overview.notices}</h2>
<ul class="notices">${lately.map(
    ({ type, severity, raised_at, facts }) =>
      html`<li>${time(visit, raised_at)} <span class="state ${severity === 'critical' ? 'bad' : 'near'}">${noticeOf(visit, type, facts)}</span></li>
`,
  )}</ul>`
}

/** The sentence of a notice, and the way to what it is about. */
function noticeOf({ words }: Visit, type: string, facts: Readonly<Record<string, unknown>>): Html {
  const sentence = (words.notices as Readonly<Record<string, (facts: unknown) => string>>)[type]?.(
    facts,
  )
  const { generation_id: request, key_id: key } = facts
  const text = foreign(sentence ?? type)
  if (typeof request === 'string') return html`<a href="/cabinet/activity/${request}">${text}</a>`
  return typeof key === 'string' ? html`<a href="/cabinet/keys/${key}">${text}</a>` : text
}

function refusedOf(visit: Visit, refusals: VerbRecord<'accounts.refusals'>): Html {
  const { words } = visit
  if (refusals.length === 0) {
    return html`<h2>${words.overview.refused}</h2><p class="note">${words.overview.refusedNone}</p>`
  }
  return html`<h2>${words.overview.refused}</h2>
${table(
  words.overview.refused,
  [
    {
      title: words.overview.code,
      cell: ({ code }) => html`${reasonOf(visit, code)} <small><code>${code}</code></small>`,
    },
    {
      title: words.overview.key,
      cell: ({ key_id, key_name }) =>
        html`<a href="/cabinet/keys/${key_id}">${foreign(key_name)}</a>`,
    },
    {
      title: words.overview.times,
      cell: ({ count: times, is_least }) => `${is_least ? '≥ ' : ''}${count(times)}`,
      isNumber: true,
    },
    { title: words.overview.latest, cell: ({ latest_at }) => time(visit, latest_at) },
    {
      title: words.overview.why,
      cell: ({ latest }) => html`<a href="/cabinet/activity/${latest}">${words.overview.why}</a>`,
    },
  ],
  refusals,
)}`
}
