/** Every request of the account, filtered by the address, so that what is seen can be sent; and the same as a file. */
import { GatewayError } from '#domain/errors.ts'
import type { VerbInput, VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import type { Show } from '../draw/on-page.ts'
import {
  choice,
  count,
  field,
  foreign,
  rub,
  type Sheet,
  state,
  table,
  time,
  usd,
} from '../draw/parts.ts'
import { csvInPages } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { isUnreadable, readSince, readUntil } from './span.ts'

type Found = VerbRecord<'activity.search'>
type Entry = Found['requests'][number]
type Query = VerbInput<'activity.list'>

const PAGE = 50
/** So many lines of the log are looked at for a page, whosever they are: some tens of milliseconds. */
const LINES = 20_000
const FILTERS = ['key', 'model', 'provider', 'user', 'status', 'since', 'until'] as const

export const showActivity: Show = async (visit) => {
  const { words, url, act } = visit
  if (url.searchParams.has(NEW)) {
    const newest = await orNothing(NOTHING, () =>
      act('activity.search', { ...queryOf(visit), limit: 1, lines: NEW_LINES }),
    )
    if (newest.requests.length === 0) return new Response(null, { status: 204 })
  }
  return {
    title: words.activity.title,
    live: hrefOf('/cabinet/live', { account: visit.account.id }),
    content: html`<div class="top"><h1>${words.activity.title}</h1>
<a href="${hrefOf('/cabinet/activity.csv', { ...stated(visit), account: visit.account.id })}" hx-boost="false">${words.activity.csv}</a></div>
${filtersOf(visit)}`,
    rest: () => drawRequests(visit),
  } satisfies Sheet
}

async function drawRequests(visit: Visit): Promise<Html> {
  const { words, url, act } = visit
  const before = url.searchParams.get('before')
  const found = await orNothing(NOTHING, () =>
    act('activity.search', { ...queryOf(visit), before, limit: PAGE + 1, lines: LINES }),
  )
  const shown = found.requests.slice(0, PAGE)
  const { kept_since: since } = await act('activity.kept', {})
  return html`<div id="${LIVE_LIST}"${freshOf(visit, shown)}>${shown.length === 0 ? emptyOf(visit, found) : tableOf(visit, shown)}
${onwardOf(visit, found)}</div>
${since !== null && html`<p class="note">${words.activity.kept(since.slice(0, 10))}</p>`}`
}

/** The id of the list, by which it is told what the page asks for by itself. */
export const LIVE_LIST = 'requests'

/** In the address of a list that has found nothing: it is drawn again only where one of the newest lines matches. */
const NEW = 'new'
/** More than come between two looks. */
const NEW_LINES = 1_000

/** The newest page is drawn again when a request has come, under the same filters. */
const freshOf = (visit: Visit, [latest]: readonly Entry[]): Html | '' => {
  if (visit.url.searchParams.has('before')) return ''
  const href = hrefOf('/cabinet/activity', {
    ...stated(visit),
    account: visit.account.id,
    [NEW]: latest === undefined ? '1' : null,
  })
  return html` data-latest="${latest?.id ?? ''}" hx-get="${href}" hx-trigger="request-came" hx-select="#${LIVE_LIST}" hx-swap="outerHTML" hx-disinherit="*"`
}

const NOTHING: Found = { requests: [], searched_to: null, searched_back_to: null }

/** An unknown key, or a status that is none, matches nothing. */
async function orNothing<Answer>(nothing: Answer, read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read()
  } catch (thrown) {
    const isUnknown = thrown instanceof GatewayError && UNKNOWN.has(thrown.code)
    if (!isUnknown) throw thrown
    return nothing
  }
}

const UNKNOWN: ReadonlySet<string> = new Set(['key_not_found', 'invalid_request'])

const stated = ({ url }: Visit): Record<string, string | null> =>
  Object.fromEntries(FILTERS.map((name) => [name, url.searchParams.get(name)]))

function queryOf(visit: Visit): Query {
  const of = (name: string): string | null => visit.url.searchParams.get(name) || null
  const status = of('status')
  return {
    account: visit.account.id,
    key: of('key'),
    model: of('model'),
    provider: of('provider'),
    user: of('user'),
    status: status === 'failed' ? null : status,
    errors: status === 'failed',
    since: readSince(of('since')),
    until: readUntil(of('until')),
  }
}

const emptyOf = ({ words: { activity: words }, url }: Visit, { searched_to }: Found): Html => {
  if (isUnreadable(url.searchParams)) return html`<p class="empty">${words.noDay}</p>`
  if (searched_to !== null) return html`<p class="empty">${words.noneSoFar}</p>`
  return html`<p class="empty">${url.searchParams.size === 0 ? words.noneYet : words.none}</p>`
}

/** To the page behind this one; or, where few of many match, how far was looked, and on from there. */
function onwardOf(visit: Visit, { requests, searched_to, searched_back_to }: Found): Html | null {
  const words = visit.words.activity
  const hrefBefore = (before: string, account: string | null = null): string =>
    hrefOf('/cabinet/activity', { ...stated(visit), before, account })
  const last = requests[PAGE - 1]
  if (requests.length > PAGE && last !== undefined) {
    return html`<p class="pages"><a class="button" href="${hrefBefore(last.id)}">${words.older}</a></p>`
  }
  if (searched_to === null) return null
  const href = hrefBefore(searched_to)
  // A script goes on by itself until something is found, or the page is left; the list stays that of the newest page, and live.
  const goesOn =
    requests.length > 0
      ? ''
      : html` hx-get="${hrefBefore(searched_to, visit.account.id)}" hx-trigger="load delay:200ms" hx-target="#${LIVE_LIST}" hx-select="#${LIVE_LIST} > *" hx-swap="innerHTML"`
  return html`<p class="pages"${goesOn} role="status"><span class="note">${words.searched} ${time(visit, searched_back_to)}</span>
<a class="button" href="${href}">${words.further}</a></p>`
}

function filtersOf(visit: Visit): Html {
  const words = visit.words.activity
  const of = (name: string): string => visit.url.searchParams.get(name) ?? ''
  const date = html` placeholder="${words.dateHint}"`
  return html`<form class="filters" method="get" action="/cabinet/activity">
${field('key', words.key, { value: of('key') })}
${field('model', words.model, { value: of('model') })}
${field('provider', words.provider, { value: of('provider') })}
${field('user', words.user, { value: of('user') })}
${choice(
  'status',
  words.status,
  [
    ['', words.any],
    ['2xx', '2xx'],
    ['4xx', '4xx'],
    ['429', '429'],
    ['402', '402'],
    ['5xx', '5xx'],
    ...(['', '2xx', '4xx', '429', '402', '5xx'].includes(of('status'))
      ? []
      : ([[of('status'), of('status')]] as const)),
  ],
  of('status'),
)}
${field('since', words.since, { value: of('since'), attributes: date })}
${field('until', words.until, { value: of('until'), attributes: date })}
<button type="submit">${words.filter}</button>
${visit.url.searchParams.size > 0 && html`<a class="button" href="/cabinet/activity">${words.clear}</a>`}
</form>`
}

const tableOf = (visit: Visit, entries: readonly Entry[]): Html => {
  const { words } = visit
  const only = (name: string, value: string): Html =>
    html`<a href="${hrefOf('/cabinet/activity', { ...stated(visit), [name]: value })}">${foreign(value)}</a>`
  return table(
    words.activity.title,
    [
      {
        title: words.activity.time,
        cell: ({ id, created_at }) =>
          html`<a href="/cabinet/activity/${id}">${time(visit, created_at)}</a>`,
      },
      {
        title: words.activity.key,
        cell: ({ key_id, key_name }) =>
          html`<a href="/cabinet/keys/${key_id}">${foreign(key_name)}</a>`,
      },
      {
        title: words.activity.model,
        cell: ({ model, provider }) =>
          html`${only('model', model)}${provider === null ? '' : html`<br><small>${only('provider', provider)}</small>`}`,
      },
      {
        title: words.activity.user,
        cell: ({ user }) => (user === null ? html`` : only('user', user)),
      },
      {
        title: words.activity.tokens,
        isNumber: true,
        cell: ({ prompt_tokens, completion_tokens, images }) =>
          html`${count(prompt_tokens)} / ${count(completion_tokens)}${images > 0 && html`<br><small>${words.receipt.images}: ${count(images)}</small>`}`,
      },
      {
        title: words.activity.took,
        isNumber: true,
        cell: ({ total_ms }) => lasted(words, total_ms),
      },
      {
        title: words.activity.cost,
        isNumber: true,
        cell: ({ cost_usd, cost_rub }) => html`${usd(cost_usd)}<br><small>${rub(cost_rub)}</small>`,
      },
      {
        title: words.activity.status,
        cell: (entry) =>
          html`${statusOf(entry)}${entry.ended_by !== 'completed' && html`<br><small>${entry.code === null ? words.activity.ended[entry.ended_by] : reasonOf(visit, entry.code)}</small>`}`,
      },
    ],
    entries,
    { isLog: true },
  )
}

/** "42 ms", "1.25 s", "12.5 s" */
export const lasted = ({ span: { ms, seconds } }: Visit['words'], time: number): string =>
  time < 1_000
    ? `${Math.round(time)} ${ms}`
    : `${(time / 1000).toFixed(time < 10_000 ? 2 : 1)} ${seconds.trim()}`

export const statusOf = ({ status }: Pick<Entry, 'status'>): Html =>
  state(status < 400 ? 'ok' : status < 500 ? 'near' : 'bad', String(status))

/** Why it was refused, or failed; the code itself where it is of another version. */
export const reasonOf = ({ words }: Visit, code: string): string =>
  (words.codes as Readonly<Record<string, string>>)[code] ?? code

const COLUMNS = [
  'created_at',
  'id',
  'key_name',
  'model',
  'provider',
  'user',
  'surface',
  'status',
  'code',
  'ended_by',
  'prompt_tokens',
  'completion_tokens',
  'images',
  'cost_usd',
  'cost_rub',
  'total_ms',
] as const satisfies readonly (keyof Entry)[]

/** The whole of what is filtered, however long, read a page at a time as the browser takes it. */
export const activityFile: Show = async (visit) =>
  csvInPages('activity.csv', COLUMNS, (before, limit) =>
    orNothing([], () => visit.act('activity.list', { ...queryOf(visit), before, limit })),
  )
