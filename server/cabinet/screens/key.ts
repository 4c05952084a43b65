/** One key: what it has used of each limit, and what may be changed of it. */
import type { GatewayError } from '#domain/errors.ts'
import { LIMITS } from '#domain/limits.ts'
import { sees } from '#operator/actor.ts'
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
  type Sheet,
  sentBefore,
  time,
} from '../draw/parts.ts'
import { newToken } from '../once.ts'
import { goTo } from '../respond.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { sentenceOf } from './failure.ts'
import { prefixOf, spent, stateOf, usedOf } from './keys.ts'
import { drawLimits, drawMatches, type Filled, filledFrom, readLimits } from './limit-fields.ts'
import { isChanged, wereOf } from './were.ts'

type Key = VerbRecord<'keys.show'>

const find = ({ act, account, named }: Visit): Promise<Key> =>
  act('keys.show', { key: named['key'] ?? '', account: account.id })

export const showKey: Show = async (visit) => drawKey(visit, await find(visit))

const MAX_TWINS = 10

/** Said where another that the person sees has the name too, and is no more than revoked. */
export async function twinOf({ words, operator, account, actor }: Visit, key: Key): Promise<Html> {
  const same = await operator.store.keys.search(key.name, MAX_TWINS, account.id)
  const isTwin = same.some(
    (one) =>
      one.id !== key.id && one.name === key.name && one.revokedAt === null && sees(actor, one),
  )
  return isTwin ? html`<p class="warning">${words.keys.twin}</p>` : html``
}

interface Problem {
  readonly error: GatewayError
  readonly filled: Filled
}

async function drawKey(visit: Visit, key: Key, problem?: Problem): Promise<Sheet> {
  const { words, url, role } = visit
  const twin = await twinOf(visit, key)
  const isOpen = key.status !== 'revoked' && mayDo(role, 'limits.set')
  return {
    title: key.name,
    ...(problem && { status: problem.error.status }),
    content: html`<p class="crumb"><a href="/cabinet/keys">${words.keys.title}</a></p>
<div class="top"><h1><bdi>${key.name}</bdi></h1><a href="${hrefOf('/cabinet/activity', { key: key.id })}">${words.keys.requests}</a></div>
${url.searchParams.has('saved') && html`<p class="good" role="status">${words.keys.saved}</p>`}
${sentBefore(visit)}${twin}
${problem && html`<p class="problem" role="alert">${sentenceOf(visit, problem.error)}</p>`}
${factsOf(visit, key)}
<h2>${words.keys.limits}</h2>
${isOpen ? limitsForm(visit, key, problem?.filled) : drawMatches(visit, key.allowed_models)}
${isOpen && actsOf(visit, key)}`,
  }
}

function factsOf(visit: Visit, key: Key): Html {
  const { words } = visit
  const { minute, day, tokens } = key.windows
  const window = (title: string, reading: typeof minute): readonly [string, Html | null] => [
    title,
    reading && usedOf(visit, title, reading.limit - reading.remaining, reading.limit),
  ]
  return facts([
    [words.keys.key, html`<code>${prefixOf(key.label)}</code>`],
    [words.keys.state, stateOf(visit, key.status)],
    [
      words.keys.day,
      spent(visit, words.keys.day, key.usage.spend_day_usd, key.daily_spend_limit_usd),
    ],
    [
      words.keys.month,
      spent(visit, words.keys.month, key.usage.spend_month_usd, key.monthly_spend_limit_usd),
    ],
    window(words.keys.minute, minute),
    window(words.keys.perDay, day),
    window(words.keys.tokens, tokens),
    [
      words.keys.concurrency,
      usedOf(visit, words.keys.concurrency, key.usage.requests_in_progress, key.concurrency_limit),
    ],
    [
      words.keys.lastUsed,
      key.last_used_at === null ? words.keys.never : time(visit, key.last_used_at),
    ],
    [words.keys.created, time(visit, key.created_at)],
    [words.keys.maker, html`<bdi>${key.made_by ?? words.keys.operator}</bdi>`],
    [words.keys.expires, key.expires_at && time(visit, key.expires_at)],
    [words.keys.note, key.note === null ? null : html`<bdi>${key.note}</bdi>`],
  ])
}

const pathOf = ({ id }: Pick<Key, 'id'>, step = ''): string => `/cabinet/keys/${id}${step}`

const limitsForm = (visit: Visit, key: Key, filled: Filled = filledFrom(key)): Html => {
  const { words } = visit
  return html`<p class="note">${words.keys.limitsHint}</p>
${changing(
  visit,
  pathOf(key, '/limits'),
  html`${wereOf(visit, Object.fromEntries(LIMITS.map(({ name }) => [name, filledFrom(key)(name)])))}${drawLimits(visit, filled)}
<div class="acts"><button class="lead-button" type="submit">${words.keys.save}</button></div>`,
)}`
}

function actsOf(visit: Visit, key: Key): Html {
  const { words } = visit
  const isDisabled = key.status === 'disabled'
  return html`<h2>${words.keys.edit}</h2>
${changing(
  visit,
  pathOf(key, '/edit'),
  html`${wereOf(visit, { name: key.name, note: key.note ?? '' })}<div class="fields">${field('name', words.keys.name, { value: key.name, attributes: html` required maxlength="128"` })}
${field('note', words.keys.note, { value: key.note ?? '', attributes: html` maxlength="1000"` })}</div>
<div class="acts"><button type="submit">${words.keys.saveName}</button></div>`,
)}
<h2>${words.keys.rotate}</h2>
<p class="note">${words.keys.rotateText}</p>
${changing(
  visit,
  pathOf(key, '/rotate'),
  html`<input type="hidden" name="once" value="${newToken()}">
<div class="fields">${choice(
    'grace',
    words.keys.grace,
    GRACES.map((seconds) => [seconds, words.keys.graces[seconds] ?? seconds]),
    '86400',
  )}</div>
<div class="acts"><button type="submit">${words.keys.rotateButton}</button></div>`,
)}
<h2>${words.keys.stop}</h2>
<p class="note">${words.keys.stopText}</p>
<div class="acts">
${button(visit, pathOf(key, '/disabled'), isDisabled ? words.keys.enable : words.keys.disable, { hidden: { disabled: isDisabled ? '0' : '1' } })}
<a class="button danger" href="${pathOf(key, '/revoke')}">${words.keys.revoke}</a>
</div>`
}

/** It cannot be undone, so it is asked for twice. */
export const showRevocation: Show = async (visit) => {
  const { words } = visit
  const key = await find(visit)
  return {
    title: words.keys.revoke,
    content: html`<p class="crumb"><a href="/cabinet/keys">${words.keys.title}</a> / <a href="${pathOf(key)}"><bdi>${key.name}</bdi></a></p>
<h1>${words.keys.revoke}</h1>
<p class="note">${words.keys.revokeText(key.name)}</p>
<div class="acts">${button(visit, pathOf(key, '/revoke'), words.keys.revoke, { style: 'danger' })}
<a class="button" href="${pathOf(key)}">${words.back}</a></div>`,
  }
}

const GRACES = ['86400', '3600', '604800', '0']

/** Does it, and shows the key again: as it is now, or with what was wrong. */
const changed =
  (change: (visit: Visit, key: Key) => Promise<unknown>): Act =>
  async (visit) => {
    const key = await find(visit)
    try {
      await change(visit, key)
      return goTo(hrefOf(pathOf(key), { saved: '1' }))
    } catch (thrown) {
      return await refused(visit, key, thrown)
    }
  }

const refused = (visit: Visit, key: Key, thrown: unknown): Promise<Response> =>
  refusedOnPage(visit, thrown, ['invalid_request'], (error) => {
    const filled: Filled = (name) => visit.form.get(name) ?? filledFrom(key)(name)
    return drawKey(visit, key, { error, filled })
  })

export const setLimits = changed(({ act, form, account }, { id }) =>
  act('limits.set', { ...readLimits(form), account: account.id, keys: [id] }),
)

export const editKey = changed(({ act, form, account }, { id }) => {
  const note = (form.get('note') ?? '').trim()
  return act('keys.edit', {
    account: account.id,
    key: id,
    ...(isChanged(form, 'name') && { name: form.get('name') ?? '' }),
    ...(isChanged(form, 'note') && { note: note === '' ? null : note }),
  })
})

export const disableKey = changed(({ act, form, account }, { id }) =>
  act('keys.edit', { account: account.id, key: id, disabled: form.get('disabled') === '1' }),
)

export const revokeKey = changed(({ act, account }, { id }) =>
  act('keys.revoke', { account: account.id, key: id }),
)

export const rotateKey: Act = async (visit, once) => {
  const key = await find(visit)
  try {
    const address = await once.run(visit, async () => {
      const seconds = Number(visit.form.get('grace') ?? '86400')
      const { key: secret } = await visit.act('keys.rotate', {
        account: visit.account.id,
        key: key.id,
        ...(Number.isSafeInteger(seconds) && { grace_seconds: seconds }),
      })
      await once.reveal(visit, key.id, secret)
      return pathOf(key, '/secret')
    })
    return goTo(address ?? hrefOf(pathOf(key), { sent: 'before' }))
  } catch (thrown) {
    return await refused(visit, key, thrown)
  }
}
