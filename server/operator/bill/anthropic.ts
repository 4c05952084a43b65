/** Anthropic's usage and cost reports (Admin API): tokens by model and class, amounts in cents as decimal texts. */
import { type Day, type Instant, readInstant } from '#domain/clock.ts'
import { DocumentFault, type DocumentPath, type Fields, fieldsAt } from '#domain/document-fault.ts'
import {
  amountAt,
  type BillBuilder,
  beginningOf,
  countAt,
  listAt,
  modelAt,
  requireDollars,
  textOf,
} from './bill-builder.ts'
import { type BillingVendor, type BucketForm, resultsOf, windowsOf } from './vendor.ts'

export const anthropic: BillingVendor = {
  grain: 'classes',
  hasBuckets: true,
  row: null,
  headers: (credential) => ({ 'x-api-key': credential, 'anthropic-version': '2023-06-01' }),
  requests(scope) {
    const { project } = scope
    return windowsOf(scope).flatMap(({ from, to }) => {
      const times = [
        ['starting_at', beginningOf(from)],
        ['ending_at', beginningOf(to)],
        ['bucket_width', '1d'],
        ['limit', '31'],
      ] as const
      return [
        {
          kind: 'usage',
          path: '/organizations/usage_report/messages',
          query: [
            ...times,
            ['group_by[]', 'model'],
            ...(project === null ? [] : [['workspace_ids[]', project] as const]),
          ],
        },
        {
          kind: 'costs',
          path: '/organizations/cost_report',
          query: [
            ...times,
            ['group_by[]', 'description'],
            ...(project === null ? [] : [['group_by[]', 'workspace_id'] as const]),
          ],
        },
      ]
    })
  },
  page(page, at, bill) {
    const buckets = listAt(page['data'], [...at.path, 'data'])
    const own = at.kind ?? kindOf(buckets)
    if (own === null) return
    for (const { fields, day, where } of resultsOf(buckets, own, at, FORM, bill)) {
      if (own === 'costs') readCost(fields, day, where, bill)
      else readUsage(fields, day, where, bill)
    }
  },
}

/** By its first result; null for a page without any, of which nobody can tell. */
function kindOf(buckets: readonly unknown[]): string | null {
  for (const bucket of buckets) {
    const { results } = bucket as { readonly results?: readonly Fields[] }
    const [first] = results ?? []
    if (first !== undefined) return 'amount' in first ? 'costs' : 'usage'
  }
  return null
}

/** @throws DocumentFault */
function timeAt(value: unknown, path: DocumentPath): Instant {
  const at = readInstant(textOf(value) ?? '')
  if (at !== undefined) return at
  throw new DocumentFault(path, 'must be an RFC 3339 time')
}

const FORM: BucketForm = {
  starts: 'starting_at',
  ends: 'ending_at',
  project: 'workspace_id',
  timeAt,
  resultsOf: ({ results }) => results,
}

/** Their classes of tokens, by the names of our receipts. */
const CLASSES: Readonly<Record<string, string>> = {
  uncached_input_tokens: 'input_tokens',
  cache_read_input_tokens: 'cache_read_tokens',
  'cache_creation.ephemeral_5m_input_tokens': 'cache_write_tokens',
  'cache_creation.ephemeral_1h_input_tokens': 'cache_write_1h_tokens',
  output_tokens: 'output_tokens',
}

function readUsage(fields: Fields, day: Day, path: DocumentPath, bill: BillBuilder): void {
  const model = modelAt(fields['model'], [...path, 'model'])
  for (const [theirs, className] of Object.entries(CLASSES)) {
    const [outer = '', inner] = theirs.split('.')
    const place = [...path, ...theirs.split('.')]
    const holder = inner === undefined ? fields : fieldsAt(fields[outer] ?? {}, [...path, outer])
    bill.count(day, model, className, countAt(holder[inner ?? outer], place))
  }
  // Counts of requests, `web_search_requests`: a bill has them for all models together.
  const tools = fieldsAt(fields['server_tool_use'] ?? {}, [...path, 'server_tool_use'])
  for (const [name, calls] of Object.entries(tools)) {
    const place = [...path, 'server_tool_use', name]
    bill.count(day, null, name.replace(/_requests$/, ''), countAt(calls, place))
  }
}

function readCost(fields: Fields, day: Day, path: DocumentPath, bill: BillBuilder): void {
  requireDollars(fields['currency'], [...path, 'currency'])
  const amount = amountAt(fields['amount'], [...path, 'amount'], true)
  const type = textOf(fields['cost_type'])
  if (type === null) {
    throw new DocumentFault([...path, 'cost_type'], 'is missing: ask for group_by[]=description')
  }
  const theirs = textOf(fields['token_type']) ?? type
  const isOfTokens = type === 'tokens'
  bill.charge(day, isOfTokens ? textOf(fields['model']) : null, CLASSES[theirs] ?? theirs, amount)
}
