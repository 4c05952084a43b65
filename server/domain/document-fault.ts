/** What is wrong with a file that an operator gives, and where in it. */
import { isObject } from './json.ts'

/** The names and places that lead to a value: `["data", 0, "results"]`; for lines of a table, the number of the line alone. */
export type DocumentPath = readonly (string | number)[]

export class DocumentFault extends Error {
  readonly path: DocumentPath

  constructor(path: DocumentPath, message: string) {
    super(message)
    this.name = 'DocumentFault'
    this.path = path
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** @throws DocumentFault */
export function fieldsAt(value: unknown, path: DocumentPath): Fields {
  if (isObject(value)) return value
  throw new DocumentFault(path, 'must be an object')
}
