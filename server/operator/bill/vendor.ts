/** How a vendor says what it billed: by which requests of its API, and in which form. */
import type { Day } from '#domain/clock.ts'
import type { DocumentPath } from '#domain/document-fault.ts'
import type { Grain } from '#domain/reconcile/compare.ts'
import type { BillBuilder, Fields, ReportKind } from './bill-builder.ts'

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

const MOST_DAYS = 31

/** Windows of at most 31 days, the most that a report may span. */
export function windowsOf({ from, to }: BillScope): readonly { from: Day; to: Day }[] {
  const windows: { from: Day; to: Day }[] = []
  for (let day: number = from; day < to; day += MOST_DAYS) {
    windows.push({ from: day as Day, to: Math.min(day + MOST_DAYS, to) as Day })
  }
  return windows
}
