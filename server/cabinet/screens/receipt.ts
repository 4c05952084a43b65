/** One request: what it cost and why, how it went, or why it was refused and what lifts that. */
import { mayDo } from '#operator/roles.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import type { Show } from '../draw/on-page.ts'
import { count, facts, figures, foreign, rub, table, time, usd } from '../draw/parts.ts'
import type { Visit } from '../visit.ts'
import { lasted, reasonOf, statusOf } from './activity.ts'

type Receipt = VerbRecord<'activity.show'>
type Why = VerbRecord<'why'>

export const showReceipt: Show = async (visit) => {
  const { words, act, account, named } = visit
  const of = { account: account.id, id: named['id'] ?? '' }
  const receipt = await act('activity.show', of)
  const why = receipt.ended_by === 'refused' ? await act('why', of) : null
  return {
    title: words.receipt.title,
    content: html`<p class="crumb"><a href="/cabinet/activity">${words.activity.title}</a></p>
<div class="top"><h1>${words.receipt.title}</h1>${statusOf(receipt)}</div>
${why === null ? costOf(visit, receipt) : refusalOf(visit, why, receipt)}
${factsOf(visit, receipt)}
${receipt.attempts.length > 0 && attemptsOf(visit, receipt)}`,
  }
}

function costOf({ words }: Visit, receipt: Receipt): Html {
  const { cost_usd, cost_rub, rub_per_usd, lines, usage } = receipt
  return html`${figures([
    {
      title: words.receipt.cost,
      value: usd(cost_usd),
      below:
        rub_per_usd === null
          ? words.receipt.free
          : `${rub(cost_rub)} ${words.receipt.rate(rub_per_usd)}`,
      isFirst: true,
    },
    {
      title: words.activity.tokens,
      value: `${count(usage.prompt_tokens)} / ${count(usage.completion_tokens)}`,
      below:
        receipt.usage_source === 'estimated' ? words.receipt.estimated : words.receipt.provider,
    },
    { title: words.receipt.total, value: lasted(words, receipt.total_ms) },
  ])}
${
  lines.length > 0 &&
  html`<h2>${words.receipt.prices}</h2>
${table(
  words.receipt.prices,
  [
    {
      title: words.receipt.class,
      cell: ({ class: name, tool }) =>
        html`${(words.classes as Readonly<Record<string, string>>)[name] ?? name}${tool === undefined ? '' : html` ${foreign(tool)}`}`,
    },
    { title: words.receipt.count, cell: ({ count: amount }) => count(amount), isNumber: true },
    {
      title: words.receipt.price,
      cell: ({ unit, unit_price_usd }) =>
        unit === 'token'
          ? `${usd(perMillion(unit_price_usd))} ${words.receipt.perMillion}`
          : usd(unit_price_usd),
      isNumber: true,
    },
    { title: words.receipt.amount, cell: ({ amount_usd }) => usd(amount_usd), isNumber: true },
  ],
  lines,
  { isNarrow: true },
)}`
}`
}

/** The price of one as that of a million, digit for digit. */
function perMillion(price: string): string {
  const [whole = '0', part = ''] = price.split('.')
  const digits = whole + part.slice(0, 6).padEnd(6, '0')
  const rest = part.slice(6)
  return `${digits.replace(/^0+(?=\d)/, '')}${rest === '' ? '' : `.${rest}`}`
}

function refusalOf(visit: Visit, { refusal, now }: Why, receipt: Receipt): Html {
  const { words } = visit
  if (refusal === null) return html``
  const judged =
    now === null || now.admitted === null
      ? words.receipt.nowUnknown
      : now.admitted
        ? words.receipt.nowAdmitted
        : words.receipt.nowRefused
  return html`<h2>${words.receipt.refused}</h2>
<p class="problem">${reasonOf(visit, refusal.code)}</p>
${facts([
  [words.receipt.code, html`<code>${refusal.code}</code>`],
  [words.receipt.limit, refusal.limit && limitOf(words, refusal.limit, refusal.limit_value)],
  [words.receipt.used, refusal.used === null ? null : amountOf(refusal.limit, refusal.used)],
  [words.receipt.resets, refusal.resets_at && time(visit, refusal.resets_at)],
  [words.receipt.now, judged],
  [words.receipt.lifts, remedyOf(visit, refusal, receipt.key_id)],
])}`
}

const limitOf = (words: Visit['words'], limit: string, value: string | number | null): Html =>
  html`${words.keys.fields[limit] ?? (limit === 'balance_usd' ? words.overview.balance : limit)}${value === null ? '' : html`: ${amountOf(limit, value)}`}`

const amountOf = (limit: string | null, value: string | number): Html | string =>
  typeof value === 'number' ? count(value) : limit?.includes('usd') ? usd(value) : foreign(value)

/** The page where it is lifted, for whom that page is. */
function remedyOf(
  { words, role }: Visit,
  { code, limit_of }: NonNullable<Why['refusal']>,
  keyId: string,
): Html | string {
  if (limit_of === 'account') return words.receipt.raiseAccount
  const toKey = (label: string): Html | string =>
    mayDo(role, 'limits.set') ? html`<a href="/cabinet/keys/${keyId}">${label}</a>` : label
  switch (code) {
    case 'rate_limit_exceeded':
    case 'concurrency_limit_exceeded':
      return html`${words.receipt.wait} ${toKey(words.receipt.raise)}`
    case 'daily_spend_limit_exceeded':
    case 'monthly_spend_limit_exceeded':
    case 'spend_reserved':
      return toKey(words.receipt.raise)
    case 'model_not_allowed':
      return toKey(words.receipt.allow)
    case 'insufficient_balance':
      return words.receipt.topUp
    default:
      return toKey(words.receipt.enable)
  }
}

const factsOf = (visit: Visit, receipt: Receipt): Html => {
  const { words } = visit
  return facts([
    [words.receipt.request, html`<code>${foreign(receipt.id)}</code>`],
    [words.activity.time, time(visit, receipt.created_at)],
    [
      words.activity.key,
      html`<a href="/cabinet/keys/${receipt.key_id}">${foreign(receipt.key_name)}</a>`,
    ],
    [words.activity.model, foreign(receipt.model)],
    [words.activity.provider, receipt.provider && foreign(receipt.provider)],
    [words.activity.user, receipt.user === null ? null : foreign(receipt.user)],
    [words.receipt.surface, receipt.surface],
    [words.receipt.session, receipt.session === null ? null : foreign(receipt.session)],
    [words.receipt.stream, receipt.stream ? words.receipt.yes : words.receipt.no],
    [words.receipt.ended, words.activity.ended[receipt.ended_by] ?? receipt.ended_by],
    [
      words.receipt.first,
      receipt.first_byte_ms === null ? null : lasted(words, receipt.first_byte_ms),
    ],
  ])
}

const attemptsOf = (
  { words }: Visit,
  { attempts }: Receipt,
): Html => html`<h2>${words.receipt.attempts}</h2>
${table(
  words.receipt.attempts,
  [
    { title: words.activity.provider, cell: ({ provider }) => foreign(provider) },
    { title: words.activity.model, cell: ({ model }) => foreign(model) },
    {
      title: words.receipt.outcome,
      cell: ({ outcome, status }) =>
        `${words.receipt.outcomes[outcome] ?? outcome}${status === null ? '' : `, ${status}`}`,
    },
    { title: words.receipt.ms, cell: ({ ms }) => lasted(words, ms), isNumber: true },
    { title: words.receipt.reason, cell: ({ reason }) => (reason === null ? '' : foreign(reason)) },
  ],
  attempts,
)}`
