/** OpenRouter's activity: prompt and answer of a model on a day, with one amount for both; as CSV, a line for each request. */
import { type DocumentPath, type Fields, fieldsAt } from '#domain/document-fault.ts'
import { amountAt, countAt, dayAt, listAt, textOf } from './bill-builder.ts'
import type { BillingVendor } from './vendor.ts'

export const openrouter: BillingVendor = {
  grain: 'whole',
  hasBuckets: false,
  headers: (credential) => ({ authorization: `Bearer ${credential}` }),
  // The last thirty days that are over, in one answer.
  requests: () => [{ kind: 'activity', path: '/activity', query: [] }],
  page(page, { path }, bill) {
    for (const [index, one] of listAt(page['data'], [...path, 'data']).entries()) {
      const place = [...path, 'data', index]
      const fields = fieldsAt(one, place)
      const day = dayAt(fields['date'], [...place, 'date'])
      const model = textOf(fields['model'])
      bill.day('activity', day)
      bill.count(day, model, 'prompt_tokens', count(fields, 'prompt_tokens', place))
      bill.count(day, model, 'completion_tokens', count(fields, 'completion_tokens', place))
      // What one's own key at a vendor paid is on that vendor's bill.
      bill.charge(day, model, 'all', amountAt(fields['usage'], [...place, 'usage']))
    }
  },
  row(cells, { path }, bill) {
    const day = dayAt(cells['created_at'], [...path, 'created_at'])
    const variant = textOf(cells['variant'])
    const name = textOf(cells['model_permaslug'])
    const model = variant === null || variant === 'standard' ? name : `${name}:${variant}`
    bill.day('activity', day)
    bill.count(day, model, 'prompt_tokens', count(cells, 'tokens_prompt', path))
    bill.count(day, model, 'completion_tokens', count(cells, 'tokens_completion', path))
    bill.charge(day, model, 'all', amountAt(cells['cost_total'], [...path, 'cost_total']))
  },
}

const count = (fields: Fields, name: string, path: DocumentPath): number =>
  countAt(fields[name], [...path, name])
