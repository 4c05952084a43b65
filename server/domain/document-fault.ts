/** What is wrong with a file that an operator gives, and where in it. */

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
