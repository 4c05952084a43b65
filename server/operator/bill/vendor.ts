/** How a vendor says what it billed: by which requests of its API, and in which form. */
import type { Day, Instant } from '#domain/clock.ts'
import { type DocumentPath, type Fields, fieldsAt } from '#domain/document-fault.ts'
import type { Grain } from '#domain/reconcile/side-by-side.ts'
import { type BillBuilder, listAt, type ReportKind, textOf } from './bill-builder.ts'

/** What is asked of a vendor's API, without its page. */
export interface ReportRequest {
  readonly kind: ReportKind
  /** After the provider's base URL. */
  readonly path: string
  readonly query: readonly (readonly [name: string, value: string])[]
}

/** The days from `from` on, without `to`, and of these one project (OpenAI) or workspace (Anthropic) alone. */
export interface BillScope {
  readonly from: Day
  readonly to: Day
  readonly project: string | null
}

export interface BillingVendor {
  readonly grain: Grain
  /** Whether its reports have buckets of time, empty ones too; otherwise they are lists. */
  readonly hasBuckets: boolean
  requests(scope: BillScope): readonly ReportRequest[]
  /** A key that may read bills, which is another than those that models are asked with. */
  headers(credential: string): Readonly<Record<string, string>>
  /** One page of any of its reports; `kind` where it is known, else by what it has. @throws DocumentFault */
  page(page: Fields, at: PagePlace, bill: BillBuilder): void
  /** One line of its export as CSV; null where it has none that is known. @throws DocumentFault */
  readonly row: ((cells: Fields, at: PagePlace, bill: BillBuilder) => void) | null
}

export interface PagePlace {
  readonly path: DocumentPath
  readonly project: string | null
  readonly kind?: ReportKind
}

/** How a vendor names what every report with buckets has. */
export interface BucketForm {
  readonly starts: string
  readonly ends: string
  /** Of a result: whose it is. */
  readonly project: string
  /** @throws DocumentFault */
  timeAt(value: unknown, path: DocumentPath): Instant
  resultsOf(bucket: Fields): unknown
}

/** Each result of the page of one report, with the day of its bucket; those of other projects than the one asked for are left out. */
export function* resultsOf(
  buckets: readonly unknown[],
  kind: ReportKind,
  { path, project }: PagePlace,
  form: BucketForm,
  bill: BillBuilder,
): Generator<{ readonly fields: Fields; readonly day: Day; readonly where: DocumentPath }> {
  for (const [index, one] of buckets.entries()) {
    const place = [...path, 'data', index]
    const bucket = fieldsAt(one, place)
    const from = form.timeAt(bucket[form.starts], [...place, form.starts])
    const to = form.timeAt(bucket[form.ends], [...place, form.ends])
    const day = bill.bucket(kind, from, to, place)
    const results = listAt(form.resultsOf(bucket), [...place, 'results'])
    for (const [at, result] of results.entries()) {
      const where = [...place, 'results', at]
      const fields = fieldsAt(result, where)
      if (project !== null && (textOf(fields[form.project]) ?? project) !== project) continue
      yield { fields, day, where }
    }
  }
}

const MOST_DAYS = 31

/** Windows of at most 31 days, the most that a report may span. */
export function windowsOf({ from, to }: BillScope): readonly { from: Day; to: Day }[] {
  const windows: { from: Day; to: Day }[] = []
  for (let day: number = from; day < to; day += MOST_DAYS) {
    windows.push({ from: day as Day, to: Math.min(day + MOST_DAYS, to) as Day })
  }
  return windows
}
