/** Reads a bill from files that were downloaded: JSON, a page or a list of pages; or CSV, whatever its size. */
import { createReadStream } from 'node:fs'
import { DocumentFault, fieldsAt } from '#domain/document-fault.ts'
import type { BillBuilder } from '#operator/bill/bill-builder.ts'
import { csvRows } from '#operator/bill/csv-rows.ts'
import type { BillingVendor } from '#operator/bill/vendor.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { readDocument } from '../flags/read-document.ts'

/** @throws CommandError 1 for a file that cannot be read, 2 for one that is wrong */
export async function readReports(
  vendor: BillingVendor,
  files: readonly string[],
  project: string | null,
  bill: BillBuilder,
): Promise<void> {
  for (const file of files) {
    await (/\.csv$/i.test(file)
      ? readCsv(vendor, file, project, bill)
      : readDocument(file, (document) => readPages(vendor, document, project, bill)))
  }
}

function readPages(
  vendor: BillingVendor,
  document: unknown,
  project: string | null,
  bill: BillBuilder,
): void {
  const pages = Array.isArray(document) ? document.map((page, at) => [page, [at]] as const) : null
  for (const [page, path] of pages ?? [[document, []] as const]) {
    vendor.page(fieldsAt(page, path), { path, project }, bill)
  }
}

async function readCsv(
  vendor: BillingVendor,
  file: string,
  project: string | null,
  bill: BillBuilder,
): Promise<void> {
  if (vendor.row === null) throw usageError(`${file}: no form of CSV of this vendor is known`)
  try {
    for await (const { cells, line } of csvRows(createReadStream(file, 'utf8'))) {
      vendor.row(cells, { path: [line], project }, bill)
    }
  } catch (thrown) {
    if (thrown instanceof DocumentFault) {
      const [line, ...field] = thrown.path
      throw usageError(`${file}:${line} ${field.map((one) => `${one} `).join('')}${thrown.message}`)
    }
    if (thrown instanceof CommandError) throw thrown
    throw new CommandError('unreadable', EXIT.failed, `cannot read ${file}: ${fileFault(thrown)}`)
  }
}
