/** The fields of a key's limits, drawn and read: an empty one is no limit. */
import { html } from 'hono/html'
import { allows } from '#domain/key.ts'
import { LIMITS, type LimitsRecord } from '#domain/limits.ts'
import type { Html } from '#pages/html.ts'
import { field, foreign } from '../draw/parts.ts'
import type { Visit } from '../visit.ts'

/** What a field is filled with. */
export type Filled = (name: string) => string

export const filledFrom =
  (limits: Partial<LimitsRecord>): Filled =>
  (name) => {
    const value = limits[name as keyof LimitsRecord] ?? null
    if (value === null) return ''
    return typeof value === 'object' ? value.join('\n') : String(value)
  }

export const drawLimits = ({ words }: Visit, filled: Filled): Html => html`<div class="fields">
${LIMITS.map(({ name, unit }) =>
  unit === 'masks'
    ? html`<div class="wide"><label for="${name}">${words.keys.fields[name]}</label>
<textarea id="${name}" name="${name}" rows="3" aria-describedby="${name}-hint" autocapitalize="none" spellcheck="false">${filled(name)}</textarea>
<p class="hint" id="${name}-hint">${words.keys.masks}</p></div>`
    : field(name, words.keys.fields[name] ?? name, {
        value: filled(name),
        attributes: html` inputmode="${unit === 'usd' ? 'decimal' : 'numeric'}" autocomplete="off"`,
      }),
)}
</div>`

/** As the verbs read them. A field that is not in the form is left as it is. */
export function readLimits(form: URLSearchParams): Record<string, unknown> {
  const read = LIMITS.filter(({ name }) => form.has(name)).map(({ name, unit }) => {
    const text = (form.get(name) ?? '').trim()
    if (text === '') return [name, null]
    if (unit === 'masks') return [name, text.split(/[\s,]+/)]
    return [name, unit === 'usd' ? text.replace(',', '.').replace(/^\$/, '') : toCount(text)]
  })
  return Object.fromEntries(read)
}

/** What is no number stays as it is typed, for the verb to refuse. */
const toCount = (text: string): number | string => (/^\d{1,12}$/.test(text) ? Number(text) : text)

const MAX_SHOWN = 12

/** Which of the models a list allows. */
export function drawMatches({ words, operator }: Visit, masks: readonly string[] | null): Html {
  if (masks === null) return html`<p class="note">${words.keys.allModels}</p>`
  const models = [...operator.store.catalogue.current().models.keys()]
  const matching = models.filter((model) => allows(masks, model))
  const shown = matching.slice(0, MAX_SHOWN)
  return html`<p class="note">${words.keys.matches(matching.length)} ${shown.map(
    (model, place) => html`${place > 0 ? ', ' : ''}<code>${foreign(model)}</code>`,
  )}${matching.length > shown.length ? ' …' : ''}</p>`
}
