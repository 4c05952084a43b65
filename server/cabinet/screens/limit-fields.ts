/** The fields of a key's limits, drawn and read: an empty one is no limit. */
import { allows } from '#domain/key.ts'
import { LIMITS, type LimitsRecord } from '#domain/limits.ts'
import { type Html, html } from '#pages/html.ts'
import type { Show } from '../draw/on-page.ts'
import { field, foreign } from '../draw/parts.ts'
import { hrefOf, type Visit } from '../visit.ts'
import { readDollars } from './dollars.ts'
import { isChanged } from './were.ts'

/** What a field is filled with. */
export type Filled = (name: string) => string

export const filledFrom =
  (limits: Partial<LimitsRecord>): Filled =>
  (name) => {
    const value = limits[name as keyof LimitsRecord] ?? null
    if (value === null) return ''
    return typeof value === 'object' ? value.join('\n') : String(value)
  }

export const drawLimits = (visit: Visit, filled: Filled): Html => {
  const { words } = visit
  return html`<div class="fields">
${LIMITS.map(({ name, unit }) =>
  unit === 'masks'
    ? html`<div class="wide"><label for="${name}">${words.keys.fields[name]}</label>
<textarea id="${name}" name="${name}" rows="3" aria-describedby="${name}-hint" autocapitalize="none" spellcheck="false" hx-get="${hrefOf('/cabinet/keys/matches', { account: visit.account.id })}" hx-trigger="input changed delay:300ms" hx-target="#matches" hx-select="#matches" hx-swap="outerHTML">${filled(name)}</textarea>
<p class="hint" id="${name}-hint">${words.keys.masks}</p>
${drawMatches(visit, readMasks(filled(name)))}</div>`
    : field(name, words.keys.fields[name] ?? name, {
        value: filled(name),
        attributes: html` inputmode="${unit === 'usd' ? 'decimal' : 'numeric'}" autocomplete="off"`,
      }),
)}
</div>`
}

const readMasks = (text: string): readonly string[] | null =>
  text.trim() === '' ? null : text.trim().split(/[\s,]+/)

/** As the verbs read them. What is not in the form, or is not changed in it, is left as it is. */
export function readLimits(form: URLSearchParams): Record<string, unknown> {
  const read = LIMITS.filter(({ name }) => isChanged(form, name)).map(({ name, unit }) => {
    const text = (form.get(name) ?? '').trim()
    if (text === '') return [name, null]
    if (unit === 'masks') return [name, readMasks(text)]
    return [name, unit === 'usd' ? readDollars(text) : toCount(text)]
  })
  return Object.fromEntries(read)
}

/** What is no number stays as it is typed, for the verb to refuse. */
const toCount = (text: string): number | string => (/^\d{1,12}$/.test(text) ? Number(text) : text)

const MAX_SHOWN = 12

/** Which of the account's models a list allows. */
export function drawMatches(
  { words, operator, account }: Visit,
  masks: readonly string[] | null,
): Html {
  const models = [...operator.store.catalogue.current().models.keys()]
  const matching = models.filter(
    (model) => allows(masks, model) && allows(account.limits.allowedModels, model),
  )
  const shown = matching.slice(0, MAX_SHOWN)
  return html`<p class="hint" id="matches" role="status">${words.keys.matches(matching.length)} ${shown.map(
    (model, place) => html`${place > 0 ? ', ' : ''}<code>${foreign(model)}</code>`,
  )}${matching.length > shown.length ? ' …' : ''}</p>`
}

/** What the list that is being typed allows; the form asks for it. */
export const showMatches: Show = async (visit) => {
  const title = visit.words.keys.fields['allowed_models'] ?? ''
  const masks = readMasks(visit.url.searchParams.get('allowed_models') ?? '')
  return { title, content: html`<h1>${title}</h1>${drawMatches(visit, masks)}` }
}
