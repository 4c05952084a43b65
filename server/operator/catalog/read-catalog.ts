/** Reads a file of prices: a list of entries as docs/catalog.md has them, or the `api.json` of models.dev. */
import * as z from 'zod/mini'
import { DocumentFault } from '#domain/document-fault.ts'
import { decimalOf, isLongInteger } from '#domain/json.ts'
import { readForm } from '#forms/read-form.ts'
import { catalogEntry } from './entry.ts'
import { type FileEntry, fromModelsDev, isModelsDev } from './from-models-dev.ts'

/** An entry whose price may be one that cannot be said here. */
export const pricedEntry = z.extend(catalogEntry, { refused: z.optional(z.string()) })

export type PricedEntry = z.output<typeof pricedEntry>

/** `document` has its numbers as they were written (`parseAsWritten`). @throws DocumentFault */
export async function readCatalog(document: unknown): Promise<readonly PricedEntry[]> {
  const entries: PricedEntry[] = []
  for (const { path, entry } of entriesOf(document)) {
    const reading = await readForm(pricedEntry, entry)
    if (!reading.fits) {
      throw new DocumentFault([...path, ...reading.path.map(toKey)], reading.message)
    }
    entries.push(reading.value)
  }
  return entries
}

const toKey = (key: PropertyKey): string | number => (typeof key === 'symbol' ? String(key) : key)

function entriesOf(document: unknown): Iterable<FileEntry> {
  if (Array.isArray(document)) {
    return document.map((entry, index) => ({ path: [index], entry: toPlain(entry) }))
  }
  if (isModelsDev(document)) return fromModelsDev(document)
  throw new DocumentFault(
    [],
    'is neither a list of entries as docs/catalog.md has them, nor the api.json of models.dev',
  )
}

const COUNTS = new Set(['context_length', 'max_output_tokens', 'above_input_tokens'])

/** Counts as numbers, and prices as texts. */
function toPlain(value: unknown, field = ''): unknown {
  if (isLongInteger(value)) {
    return COUNTS.has(field) ? Number(value.rawJSON) : (decimalOf(value) ?? value.rawJSON)
  }
  if (Array.isArray(value)) return value.map((one) => toPlain(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toPlain(one, name)]))
}
