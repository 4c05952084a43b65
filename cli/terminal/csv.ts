/** Comma-separated lines for a spreadsheet: a header of field names, full values, RFC 4180's quotes. */
import { clean } from './clean.ts'
import { print } from './output.ts'

export type CsvValue = string | number | boolean | null

/** Prints the named fields of each row, in this order; with no rows, the header alone. */
export function printCsv<Field extends string>(
  fields: readonly Field[],
  rows: readonly Readonly<Record<Field, CsvValue>>[],
): void {
  print([csvHeader(fields), ...rows.map((row) => csvLine(fields, row))].join('\n'))
}

export const csvHeader = (fields: readonly string[]): string => fields.join(',')

export const csvLine = <Field extends string>(
  fields: readonly Field[],
  row: Readonly<Record<Field, CsvValue>>,
): string => fields.map((field) => renderCell(row[field])).join(',')

/** A spreadsheet would run text that begins like a formula, and names of models and users are untrusted. */
const FORMULA = /^[=+\-@]/

function renderCell(value: CsvValue): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value
  const shown = clean(text)
  return /[",]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown
}
