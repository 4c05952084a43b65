/** OpenAI's usage and costs (organization API): tokens by model, and amounts by line item: `gpt-5-2025-08-07, cached input`. */
import { type Day, dayOf, dayStart, type Instant } from '#domain/clock.ts'
import { DocumentFault, type DocumentPath, type Fields, fieldsAt } from '#domain/document-fault.ts'
import { decimalOf } from '#domain/json.ts'
import {
  amountAt,
  type BillBuilder,
  countAt,
  listAt,
  modelAt,
  requireDollars,
  textOf,
} from './bill-builder.ts'
import { type BillingVendor, type BucketForm, resultsOf, windowsOf } from './vendor.ts'

const USAGE = ['completions', 'embeddings', 'images'] as const

export const openai: BillingVendor = {
  grain: 'classes',
  hasBuckets: true,
  headers: (credential) => ({ authorization: `Bearer ${credential}` }),
  requests(scope) {
    const { project } = scope
    return windowsOf(scope).flatMap(({ from, to }) => {
      const times = [
        ['start_time', String(dayStart(from) / 1_000)],
        ['end_time', String(dayStart(to) / 1_000)],
        ['bucket_width', '1d'],
        ['limit', '31'],
        ...(project === null ? [] : [['project_ids[]', project] as const]),
      ] as const
      return [
        ...USAGE.map((kind) => ({
          kind,
          path: `/organization/usage/${kind}`,
          query: [...times, ['group_by[]', 'model'] as const],
        })),
        {
          kind: 'costs',
          path: '/organization/costs',
          query: [...times, ['group_by[]', 'line_item'] as const],
        },
      ]
    })
  },
  page(page, at, bill) {
    const buckets = listAt(page['data'], [...at.path, 'data'])
    const own = at.kind ?? kindOf(buckets)
    if (own === null) return
    for (const { fields, day, where } of resultsOf(buckets, own, at, FORM, bill)) {
      if ('amount' in fields) readCost(fields, day, where, bill)
      else readUsage(fields, day, where, bill)
    }
  },
  /** The dashboard's export has the fields of a result in columns, and a line without them for an empty day. */
  row(cells, { path, project }, bill) {
    const at = secondsAt(cells['start_time'], [...path, 'start_time'])
    const isCost = 'amount_value' in cells
    const day = dayOf(at)
    bill.day(isCost ? 'costs' : 'completions', day)
    if (project !== null && cells['project_id'] !== project) return
    if (!isCost) return readUsage(cells, day, path, bill)
    if (textOf(cells['amount_value']) === null) return
    const amount = { value: cells['amount_value'], currency: cells['amount_currency'] }
    readCost({ ...cells, amount }, day, path, bill)
  },
}

/** By its first result: `organization.usage.completions.result`; null for a page without any. */
function kindOf(buckets: readonly unknown[]): string | null {
  for (const bucket of buckets) {
    const { results } = bucket as { readonly results?: readonly Fields[] }
    const [first] = results ?? []
    if (first === undefined) continue
    const object = textOf(first['object']) ?? ''
    return 'amount' in first ? 'costs' : (/usage\.(\w+)\./.exec(object)?.[1] ?? 'completions')
  }
  return null
}

function secondsAt(value: unknown, path: DocumentPath): Instant {
  const seconds = Number(decimalOf(value) ?? Number.NaN)
  if (Number.isSafeInteger(seconds) && seconds > 0) return (seconds * 1_000) as Instant
  throw new DocumentFault(path, 'must be a time in Unix seconds')
}

const FORM: BucketForm = {
  starts: 'start_time',
  ends: 'end_time',
  project: 'project_id',
  timeAt: secondsAt,
  resultsOf: ({ results, result }) => results ?? result,
}

/** `input_tokens` has the cached ones in it, those written to the cache, and those of images and audio. */
function readUsage(fields: Fields, day: Day, path: DocumentPath, bill: BillBuilder): void {
  const model = modelAt(fields['model'], [...path, 'model'])
  const count = (name: string): number => countAt(fields[name], [...path, name])
  const [cached, written] = [count('input_cached_tokens'), count('input_cache_write_tokens')]
  const [images, audio] = [count('input_image_tokens'), count('input_audio_tokens')]
  const [drawn, spoken] = [count('output_image_tokens'), count('output_audio_tokens')]
  const put = (className: string, units: number): void => bill.count(day, model, className, units)
  put('input_tokens', rest(count('input_tokens'), [cached, written, images, audio], path))
  put('cache_read_tokens', cached)
  put('cache_write_tokens', written)
  put('image_input_tokens', images)
  put('audio_input_tokens', audio)
  put('output_tokens', rest(count('output_tokens'), [drawn, spoken], path))
  put('image_output_tokens', drawn)
  put('audio_output_tokens', spoken)
  put('output_images', count('images'))
}

function rest(whole: number, parts: readonly number[], path: DocumentPath): number {
  const left = parts.reduce((sum, part) => sum - part, whole)
  if (left >= 0) return left
  throw new DocumentFault(path, 'has more tokens in its parts than in all')
}

/** `priority | gpt-5, output, long context`; `gpt-image-1 image, output`. */
const LINE_ITEM =
  /^(?:\w+ \| )?(\S+?)(?: (text|image|audio))?, (input|cached input|cache writes|output)(?:, long context)?$/

const CLASSES: Readonly<Record<string, string>> = {
  input: 'input_tokens',
  'cached input': 'cache_read_tokens',
  'cache writes': 'cache_write_tokens',
  output: 'output_tokens',
  'image input': 'image_input_tokens',
  'image output': 'image_output_tokens',
  'audio input': 'audio_input_tokens',
  'audio output': 'audio_output_tokens',
}

/** Vendors' tools by the names that our receipts have. */
const TOOLS: readonly (readonly [RegExp, string])[] = [
  [/web search/i, 'web_search'],
  [/file search/i, 'file_search'],
  [/code interpreter/i, 'code_interpreter'],
]

function readCost(fields: Fields, day: Day, path: DocumentPath, bill: BillBuilder): void {
  const place = [...path, 'amount']
  const { value, currency } = fieldsAt(fields['amount'] ?? {}, place)
  requireDollars(currency, [...place, 'currency'])
  const amount = amountAt(value, [...place, 'value'])
  const item = textOf(fields['line_item'])
  if (item === null) {
    throw new DocumentFault([...path, 'line_item'], 'is missing: ask for group_by[]=line_item')
  }
  const [, model, kind = 'text', direction = ''] = LINE_ITEM.exec(item) ?? []
  if (model === undefined) {
    const tool = TOOLS.find(([words]) => words.test(item))?.[1]
    bill.charge(day, null, tool ?? item, amount)
    return
  }
  const own = CLASSES[`${kind} ${direction}`] ?? CLASSES[direction] ?? direction
  const quantity =
    fields['quantity'] == null ? null : countAt(fields['quantity'], [...path, 'quantity'])
  bill.charge(day, model, own, amount, quantity)
}
