/** What screens are drawn of: money, times, tables, forms. Text from elsewhere is escaped, and isolated in its direction. */
import { type Instant, readInstant } from '#domain/clock.ts'
import { type Html, hiddenOf, html } from '#pages/html.ts'
import type { Guest, Visit } from '../visit.ts'

/** A page's title and content, without the frame. */
export interface Sheet {
  readonly title: string
  readonly content: Html
  /** What takes longer, drawn below the content: the page leaves without it, and it follows. */
  readonly rest?: () => Promise<Html>
  /** What stands in the place of the rest until that is drawn, where it is not drawn at once. */
  readonly meanwhile?: (() => Promise<Html>) | undefined
  /** Where its live figures come from. */
  readonly live?: string
  /** Default: 200. */
  readonly status?: number
}

/** Where the rest of a page goes; no text from elsewhere has it, which is escaped. */
export const REST_PLACE = '<!--rest-->'

/** Text that somebody else wrote. */
export const foreign = (text: string): Html => html`<bdi>${text}</bdi>`

/** All digits that there are, with at least two places. */
export const usd = (amount: string): string =>
  amount.startsWith('-') ? `−${dollars(amount.slice(1))}` : dollars(amount)

/** An estimate: three digits say as much as it knows. */
export const about = (amount: string): string => {
  const value = Number(amount)
  const places = value >= 1 || value === 0 ? 2 : Math.min(9, 2 - Math.floor(Math.log10(value)))
  return usd(value.toFixed(places))
}

export const rub = (amount: number): string => `${group(String(amount))} ₽`

/** Digits in groups of three, by a thin space. */
function group(amount: string): string {
  const [whole = '0', part] = amount.split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u2009')
  return part === undefined ? grouped : `${grouped}.${part}`
}

const dollars = (amount: string): string =>
  `$${group(amount.includes('.') ? amount : `${amount}.00`)}`

export const count = (amount: number): string => group(String(amount))

const FORMATS = new Map<string, Intl.DateTimeFormat>()

/** "24 Nov, 09:50:12", in UTC; the year where it is another. */
export function time({ language, at }: Pick<Guest, 'language' | 'at'>, text: string | null): Html {
  const instant = text === null ? undefined : readInstant(text)
  if (text === null || instant === undefined) return html`<span class="dim">–</span>`
  return html`<time datetime="${text}">${format(language, instant, at)}</time>`
}

function format(language: string, instant: Instant, at: Instant): string {
  const hasYear = yearOf(instant) !== yearOf(at)
  const name = `${language} ${hasYear}`
  let formatter = FORMATS.get(name)
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'ru', {
      timeZone: 'UTC',
      day: 'numeric',
      month: 'short',
      ...(hasYear && { year: 'numeric' }),
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    FORMATS.set(name, formatter)
  }
  return formatter.format(instant)
}

const YEAR = new Intl.DateTimeFormat('en', { timeZone: 'UTC', year: 'numeric' })
const yearOf = (instant: Instant): string => YEAR.format(instant)

/** "over a year", "12d 4h", "3h 20m", "45s". */
export function span(
  seconds: number,
  { overYear, days, hours, minutes, seconds: s }: SpanWords,
): string {
  const [d, h, m] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (d > 365) return overYear
  if (d > 0) return `${count(d)}${days}${d < 100 ? ` ${h}${hours}` : ''}`
  if (h > 0) return `${h}${hours} ${m}${minutes}`
  return m > 0 ? `${m}${minutes}` : `${Math.floor(seconds)}${s}`
}

export interface SpanWords {
  readonly overYear: string
  readonly days: string
  readonly hours: string
  readonly minutes: string
  readonly seconds: string
}

/** A column of a table. */
export interface Column<Row> {
  /** In parentheses, it is heard and not seen. */
  readonly title: string
  readonly cell: (row: Row) => Html | string | number
  readonly isNumber?: boolean
}

interface TableLook {
  readonly isNarrow?: boolean
  /** Of many like rows, whose cells say by themselves what they are: two lines each on a small screen. */
  readonly isLog?: boolean
}

/** The first column names its row. `caption` is heard, not seen. */
export const table = <Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { isNarrow = false, isLog = false }: TableLook = {},
): Html => {
  const [first, ...others] = columns
  return html`<div class="scroll${isNarrow ? ' narrow' : ''}" tabindex="0" role="region" aria-label="${caption}"><table class="stack${isLog ? ' log' : ''}">
<caption class="unseen">${caption}</caption>
<thead><tr>${columns.map(({ title, isNumber }) => html`<th scope="col"${isNumber ? html` class="num"` : ''}>${title.startsWith('(') ? html`<span class="unseen">${title.slice(1, -1)}</span>` : title}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr><th scope="row">${first?.cell(row) ?? ''}</th>${others.map(
    ({ title, cell, isNumber }) =>
      html`<td${title.startsWith('(') ? '' : html` data-title="${title}"`}${isNumber ? html` class="num"` : ''}>${cell(row)}</td>`,
  )}</tr>
`,
)}</tbody>
</table></div>`
}

/** A figure of the screen's head. */
export interface Figure {
  readonly title: string
  readonly value: Html | string
  /** A smaller line below it. */
  readonly below?: Html | string | undefined
  readonly isFirst?: boolean
}

export const figures = (all: readonly Figure[]): Html => html`<dl class="figures">
${all.map(
  ({ title, value, below, isFirst }) =>
    html`<div${isFirst ? html` class="first"` : ''}><dt>${title}</dt><dd>${value}</dd>${below !== undefined && html`<dd class="below">${below}</dd>`}</div>
`,
)}</dl>`

export const facts = (
  all: readonly (readonly [string, Html | string | null])[],
): Html => html`<dl class="facts">
${all.map(([title, value]) => value !== null && html`<dt>${title}</dt><dd>${value}</dd>`)}
</dl>`

/** Who changes something: of an account, where the page is of one. */
type Changer = Pick<Guest, 'session'> & { readonly account?: Visit['account'] }

/** A form that changes something: with the token of the session, and the account that its page is of. */
export const changing = (
  { session, account }: Changer,
  action: string,
  content: Html,
  attributes: Html | '' = '',
): Html => html`<form method="post" action="${action}"${attributes}>
<input type="hidden" name="csrf" value="${session.csrf}">${account && html`<input type="hidden" name="account" value="${account.id}">`}
${content}
</form>`

/** A button that is a whole form. */
export const button = (
  guest: Changer,
  action: string,
  label: string,
  {
    style = '',
    hidden = {},
    isWhole = false,
  }: {
    readonly style?: string
    readonly hidden?: Readonly<Record<string, string>>
    /** Whether what follows is another page altogether. */
    readonly isWhole?: boolean
  } = {},
): Html =>
  changing(
    guest,
    action,
    html`${hiddenOf({ action, hidden })}<button type="submit"${style === '' ? '' : html` class="${style}"`}>${label}</button>`,
    isWhole ? html` hx-boost="false"` : '',
  )

/** Above what a form did, where it came a second time. */
export const sentBefore = ({ words, url }: Pick<Guest, 'words' | 'url'>): Html | false =>
  url.searchParams.get('sent') === 'before' &&
  html`<p class="warning" role="status">${words.sentBefore}</p>`

/** A field of a form. */
export const field = (
  name: string,
  label: string,
  {
    value = '',
    type = 'text',
    hint,
    attributes = '',
    isWide = false,
  }: {
    readonly value?: string
    readonly type?: string
    readonly hint?: string | undefined
    readonly attributes?: Html | ''
    readonly isWide?: boolean
  } = {},
): Html => html`<div${isWide ? html` class="wide"` : ''}><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${hint === undefined ? '' : html` aria-describedby="${name}-hint"`}${attributes}>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`

/** A choice of a few. */
export const choice = (
  name: string,
  label: string,
  options: readonly (readonly [value: string, label: string])[],
  chosen: string,
): Html => html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">${options.map(([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`)}</select></div>`

/** How much of a limit is used; its words say the same. */
export const meter = (label: string, percent: number | null): Html =>
  percent === null
    ? html``
    : html`<meter min="0" max="100" low="75" high="90" optimum="0" value="${Math.min(100, percent)}" aria-label="${label}">${percent} %</meter>`

export const state = (kind: 'ok' | 'bad' | 'near' | 'off', words: string): Html =>
  html`<span class="state ${kind}">${words}</span>`
