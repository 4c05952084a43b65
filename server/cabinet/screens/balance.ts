/** The money of the account: what there is, what moved, and who is told when it runs low. */

import type { GatewayError } from '#domain/errors.ts'
import { ENTRY_KINDS } from '#domain/ledger.ts'
import { mayDo } from '#operator/roles.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import { type Act, refusedOnPage, type Show } from '../draw/on-page.ts'
import {
  button,
  changing,
  choice,
  facts,
  field,
  figures,
  foreign,
  rub,
  type Sheet,
  sentBefore,
  span,
  state,
  table,
  time,
  usd,
} from '../draw/parts.ts'
import { newToken } from '../once.ts'
import { csvInPages, goTo } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { readDollars } from './dollars.ts'
import { sentenceOf } from './failure.ts'
import { isChanged, wereOf } from './were.ts'

const PAGE = 30

export const showBalance: Show = async (visit) => drawBalance(visit, null)

async function drawBalance(visit: Visit, problem: GatewayError | null): Promise<Sheet> {
  const { words, act, account, url } = visit
  const balance = await act('balance.show', { account: account.id })
  return {
    title: words.balance.title,
    live: hrefOf('/cabinet/live', { account: account.id }),
    ...(problem !== null && { status: problem.status }),
    content: html`<h1>${words.balance.title}</h1>
${SAID.filter((name) => url.searchParams.has(name)).map((name) => html`<p class="good" role="status">${words.balance[name]}</p>`)}
${sentBefore(visit)}
${problem !== null && html`<p class="problem" role="alert">${problemOf(visit, problem)}</p>`}
${figures([
  {
    title: words.overview.balance,
    value: html`<span data-figure="balance">${usd(balance.balance_usd)}</span>`,
    below: rub(balance.balance_rub),
    isFirst: true,
  },
  {
    title: words.balance.runway,
    value: balance.runway.seconds === null ? '–' : span(balance.runway.seconds, words.span),
  },
])}
<p class="note apart">${words.balance.topUpText}</p>
${await thresholdOf(visit)}
${await deliveriesOf(visit)}
${await ledgerOf(visit)}`,
  }
}

const SAID = ['saved', 'tested'] as const

function problemOf(visit: Visit, error: GatewayError): string {
  const { words } = visit
  if (error.code !== 'rate_limit_exceeded') return sentenceOf(visit, error)
  const { metadata, retryAfterSeconds = 0 } = error.details
  return words.balance.tooMany(
    Number(metadata?.['limit_value']),
    metadata?.['limit'] === 'test_notices',
    span(retryAfterSeconds, words.span),
  )
}

async function thresholdOf(visit: Visit): Promise<Html> {
  const { words, act, account, role, form } = visit
  const threshold = await act('thresholds.show', { account: account.id })
  const { threshold_usd, email, webhook_url } = threshold
  if (!mayDo(role, 'thresholds.set')) {
    return html`<h2>${words.balance.threshold}</h2>
<p class="note">${words.balance.thresholdText}</p>
${facts([
  [words.balance.below, threshold_usd === null ? '–' : usd(threshold_usd)],
  [words.balance.email, email === null ? '–' : foreign(email)],
  [words.balance.webhook, webhook_url === null ? '–' : foreign(webhook_url)],
])}`
  }
  const filled = (name: string, value: string | null): string => form.get(name) ?? value ?? ''
  return html`<h2>${words.balance.threshold}</h2>
<p class="note">${words.balance.thresholdText}</p>
${changing(
  visit,
  '/cabinet/balance/threshold',
  html`<input type="hidden" name="once" value="${newToken()}">${wereOf(visit, { below: threshold_usd ?? '', email: email ?? '', webhook: webhook_url ?? '' })}
<div class="fields">
${field('below', words.balance.below, { value: filled('below', threshold_usd), attributes: html` inputmode="decimal" autocomplete="off"` })}
${field('email', words.balance.email, { value: filled('email', email), type: 'email', attributes: html` autocomplete="off"` })}
${field('webhook', words.balance.webhook, { value: filled('webhook', webhook_url), hint: words.balance.webhookHint, isWide: true, attributes: html` inputmode="url" autocomplete="off"` })}
</div>
<div class="acts"><button class="lead-button" type="submit">${words.balance.save}</button></div>`,
)}
${
  (email !== null || webhook_url !== null) &&
  html`<div class="acts">
${button(visit, '/cabinet/balance/test', words.balance.test)}
${webhook_url !== null && button(visit, '/cabinet/balance/secret', words.balance.rotate, { hidden: { once: newToken() } })}
</div>`
}`
}

const orNull = (text: string | null): string | null => {
  const stated = (text ?? '').trim()
  return stated === '' ? null : stated
}

/** Where a webhook was added, its signing secret is shown once. */
export const setThreshold: Act = async (visit, once) => {
  const { act, form, account } = visit
  try {
    const address = await once.run(visit, async () => {
      const set = await act('thresholds.set', {
        account: account.id,
        ...(isChanged(form, 'below') && { threshold_usd: readDollars(form.get('below')) }),
        ...(isChanged(form, 'email') && { email: orNull(form.get('email')) }),
        ...(isChanged(form, 'webhook') && { webhook_url: orNull(form.get('webhook')) }),
      })
      return revealed(visit, set.webhook_secret, once)
    })
    return goTo(address ?? '/cabinet/balance?sent=before')
  } catch (thrown) {
    return await refused(visit, thrown)
  }
}

/** Said above the form, as it was sent. */
const refused = (visit: Visit, thrown: unknown): Promise<Response> =>
  refusedOnPage(visit, thrown, ['invalid_request', 'rate_limit_exceeded'], (problem) =>
    drawBalance(visit, problem),
  )

/** A session may look at several accounts. */
const secretOf = ({ account }: Visit): string => `webhook ${account.id}`

async function revealed(
  visit: Visit,
  secret: string | null,
  once: Parameters<Act>[1],
): Promise<string> {
  if (secret === null) return '/cabinet/balance?saved=1'
  await once.reveal(visit, secretOf(visit), secret)
  return '/cabinet/balance/secret'
}

export const rotateSecret: Act = async (visit, once) => {
  const address = await once.run(visit, async () => {
    const of = { account: visit.account.id, rotate_secret: true }
    return revealed(visit, (await visit.act('thresholds.set', of)).webhook_secret, once)
  })
  return goTo(address ?? '/cabinet/balance?sent=before')
}

export const showWebhookSecret: Show = async (visit, once) => {
  const { words } = visit
  const secret = await once.take(visit, secretOf(visit))
  return {
    title: words.balance.secretTitle,
    ...(secret === null && { status: 410 }),
    content: html`<p class="crumb"><a href="/cabinet/balance">${words.balance.title}</a></p>
<h1>${words.balance.secretTitle}</h1>
${
  secret === null
    ? html`<p class="note">${words.balance.secretGone}</p>`
    : html`<p class="good" role="status">${words.balance.secretText}</p>
<div class="secret"><code id="secret">${secret}</code><button type="button" data-copy="secret" data-copied="${words.keys.copied}">${words.keys.copy}</button></div>`
}
<div class="acts"><a class="button" href="/cabinet/balance">${words.back}</a></div>`,
  }
}

export const testThreshold: Act = async (visit) => {
  try {
    await visit.act('thresholds.test', { account: visit.account.id })
    return goTo('/cabinet/balance?tested=1')
  } catch (thrown) {
    return await refused(visit, thrown)
  }
}

export const redeliver: Act = async (visit) => {
  const { act, form, account } = visit
  try {
    await act('deliveries.redeliver', { account: account.id, event: form.get('event') ?? '' })
    return goTo('/cabinet/balance?tested=1')
  } catch (thrown) {
    return await refused(visit, thrown)
  }
}

type Delivery = VerbRecord<'deliveries.list'>[number]

const MAX_DELIVERIES = 20

const isStated = (part: string | number | null): boolean => part !== null

async function deliveriesOf(visit: Visit): Promise<Html> {
  const { words, act, account, role } = visit
  const sent = await act('deliveries.list', { account: account.id, limit: MAX_DELIVERIES })
  if (sent.length === 0) {
    return html`<h2>${words.balance.deliveries}</h2><p class="note">${words.balance.noDeliveries}</p>`
  }
  const answers = new Map<string, string>()
  for (const event of new Set(sent.map(({ event_id }) => event_id))) {
    const { channels } = await act('deliveries.show', { account: account.id, event })
    for (const { channel, log } of channels) {
      const { status = null, failure = null } = log.at(-1) ?? {}
      answers.set(`${event} ${channel}`, [status, failure].filter(isStated).join(' '))
    }
  }
  const kindOf = ({ state: name }: Delivery) =>
    name === 'delivered' ? 'ok' : name === 'dead' ? 'bad' : 'near'
  return html`<h2>${words.balance.deliveries}</h2>
${table(
  words.balance.deliveries,
  [
    {
      title: words.balance.at,
      cell: ({ created_at, test }) =>
        html`${time(visit, created_at)}${test ? html` <small>${words.balance.isTest}</small>` : ''}`,
    },
    {
      title: words.balance.channel,
      cell: ({ channel }) => words.balance.channels[channel] ?? channel,
    },
    {
      title: words.balance.state,
      cell: (one) => state(kindOf(one), words.balance.states[one.state] ?? one.state),
    },
    { title: words.balance.tries, cell: ({ tries }) => tries, isNumber: true },
    {
      title: words.balance.answer,
      cell: ({ event_id, channel }) => answers.get(`${event_id} ${channel}`) ?? '',
    },
    {
      title: `(${words.change})`,
      cell: ({ event_id, state: name }) =>
        name === 'dead' && mayDo(role, 'deliveries.redeliver')
          ? button(visit, '/cabinet/balance/deliveries', words.balance.again, {
              hidden: { event: event_id },
            })
          : '',
    },
  ],
  sent,
)}`
}

async function ledgerOf(visit: Visit): Promise<Html> {
  const { words, act, account, url } = visit
  const query = url.searchParams
  const kind = ENTRY_KINDS.find((name) => name === query.get('kind')) ?? null
  const before = query.get('before')
  const entries = await act('ledger.list', { account: account.id, kind, before, limit: PAGE + 1 })
  const shown = entries.slice(0, PAGE)
  const last = shown.at(-1)
  return html`<div class="top"><h2 id="ledger">${words.balance.ledger}</h2>
<a href="${hrefOf('/cabinet/balance.csv', { kind, account: visit.account.id })}" hx-boost="false">${words.activity.csv}</a></div>
<form class="filters" method="get" action="/cabinet/balance">${choice('kind', words.balance.kind, [['', words.balance.all], ...ENTRY_KINDS.map((name) => [name, words.balance.kinds[name] ?? name] as const)], kind ?? '')}
<button type="submit">${words.activity.filter}</button></form>
${table(
  words.balance.ledger,
  [
    { title: words.balance.at, cell: ({ at }) => time(visit, at) },
    { title: words.balance.kind, cell: ({ kind: name }) => words.balance.kinds[name] ?? name },
    {
      title: words.balance.note,
      cell: ({ note, generation_id }) =>
        generation_id === null
          ? note === null
            ? ''
            : foreign(note)
          : html`<a href="/cabinet/activity/${generation_id}">${words.receipt.title}</a>`,
    },
    {
      title: words.spend.rub,
      cell: ({ cost_rub }) => (cost_rub === null ? '' : rub(cost_rub)),
      isNumber: true,
    },
    { title: words.balance.amount, cell: ({ amount_usd }) => usd(amount_usd), isNumber: true },
  ],
  shown,
)}
${entries.length > PAGE && last && html`<p class="pages"><a class="button" href="${hrefOf('/cabinet/balance', { kind, before: last.id })}">${words.activity.older}</a></p>`}`
}

const COLUMNS = [
  'at',
  'id',
  'kind',
  'amount_usd',
  'cost_rub',
  'rub_per_usd',
  'key_id',
  'generation_id',
  'user',
  'note',
  'ref',
] as const

/** The whole ledger, read a page at a time as the browser takes it. */
export const ledgerFile: Show = async ({ act, account, url }) => {
  const kind = ENTRY_KINDS.find((name) => name === url.searchParams.get('kind')) ?? null
  return csvInPages('ledger.csv', COLUMNS, (before, limit) =>
    act('ledger.list', { account: account.id, kind, before, limit }),
  )
}
