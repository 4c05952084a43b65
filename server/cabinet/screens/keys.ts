/** The keys of the account: each with its state, its maker, and what it has used. */
import { mayDo } from '#operator/roles.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import {
  choice,
  count,
  field,
  foreign,
  meter,
  type Sheet,
  sentBefore,
  state,
  table,
  time,
  usd,
} from '../draw/parts.ts'
import { hrefOf, type Visit } from '../visit.ts'

export type Key = VerbRecord<'keys.list'>[number]

const PAGE = 50
const ORDERS = ['created', 'name', 'spend', 'used'] as const

export async function showKeys(visit: Visit): Promise<Sheet> {
  const { words, url, act, account, role } = visit
  const query = url.searchParams
  const page = Math.max(1, Math.floor(Number(query.get('page'))) || 1)
  const found = await act('keys.list', {
    account: account.id,
    include_revoked: query.get('revoked') === '1',
    matching: query.get('find') ?? '',
    sort: ORDERS.find((order) => order === query.get('sort')) ?? 'created',
    skip: (page - 1) * PAGE,
    limit: PAGE + 1,
  })
  const isEmpty = found.length === 0 && query.size === 0
  return {
    title: words.keys.title,
    content: html`<div class="top"><h1>${words.keys.title}</h1>
${mayDo(role, 'keys.create') && html`<a class="button lead-button" href="/cabinet/keys/new">${words.keys.create}</a>`}</div>
${sentBefore(visit)}
${isEmpty ? html`<p class="empty">${words.keys.none}</p>` : filtersOf(visit)}
${found.length > 0 ? tableOf(visit, found.slice(0, PAGE)) : !isEmpty && html`<p class="empty">${words.keys.noneMatching}</p>`}
${found.length > PAGE && html`<p class="pages"><a class="button" href="${hrefOf('/cabinet/keys', { ...Object.fromEntries(query), page: String(page + 1) })}">${words.keys.more}</a></p>`}`,
  }
}

function filtersOf({ words: { keys: words }, url }: Visit): Html {
  const query = url.searchParams
  const sorts = Object.entries(words.sorts)
  return html`<form class="filters" method="get" action="/cabinet/keys">
${field('find', words.find, { value: query.get('find') ?? '', type: 'search' })}
${choice('sort', words.sort, sorts, query.get('sort') ?? 'created')}
<label class="inline"><input type="checkbox" name="revoked" value="1"${query.get('revoked') === '1' ? html` checked` : ''}> ${words.revoked}</label>
<button type="submit">${words.apply}</button>
</form>`
}

const tableOf = (visit: Visit, keys: readonly Key[]): Html => {
  const { words } = visit
  return table(
    words.keys.title,
    [
      {
        title: words.keys.name,
        cell: ({ id, name, kind }) =>
          html`<a href="/cabinet/keys/${id}">${foreign(name)}</a>${kind !== 'ordinary' && html` <small>${words.keys.provisioning}</small>`}`,
      },
      { title: words.keys.key, cell: ({ label }) => html`<code>${prefixOf(label)}</code>` },
      { title: words.keys.state, cell: ({ status }) => stateOf(visit, status) },
      {
        title: words.keys.maker,
        cell: ({ made_by }) =>
          made_by === null
            ? html`<span class="dim">${words.keys.operator}</span>`
            : foreign(made_by),
      },
      {
        title: words.keys.lastUsed,
        cell: ({ last_used_at }) =>
          last_used_at === null
            ? html`<span class="dim">${words.keys.never}</span>`
            : time(visit, last_used_at),
      },
      {
        title: words.keys.day,
        isNumber: true,
        cell: ({ usage, daily_spend_limit_usd }) =>
          spent(visit, words.keys.day, usage.spend_day_usd, daily_spend_limit_usd),
      },
      {
        title: words.keys.month,
        isNumber: true,
        cell: ({ usage, monthly_spend_limit_usd }) =>
          spent(visit, words.keys.month, usage.spend_month_usd, monthly_spend_limit_usd),
      },
    ],
    keys,
  )
}

/** Its beginning alone, never its last characters. */
export const prefixOf = (label: string): string => `${label.split('…')[0]}…`

export const stateOf = ({ words }: Visit, status: Key['status']): Html =>
  state(
    status === 'active' ? 'ok' : status === 'disabled' ? 'near' : 'off',
    words.keys.statuses[status] ?? status,
  )

/** What is spent, of how much. */
export const spent = ({ words }: Visit, title: string, used: string, limit: string | null): Html =>
  limit === null
    ? html`${usd(used)}`
    : html`${words.keys.of(usd(used), usd(limit))}${meter(title, percentOf(used, limit))}`

/** How many, of how many. */
export const usedOf = (
  { words }: Visit,
  title: string,
  used: number,
  limit: number | null,
): Html =>
  limit === null
    ? html`${count(used)}`
    : html`${words.keys.of(count(used), count(limit))}${meter(title, percentOf(used, limit))}`

function percentOf(used: string | number, limit: string | number): number {
  const [part, whole] = [Number(used), Number(limit)]
  return whole === 0 ? 100 : Math.floor((100 * part) / whole)
}
