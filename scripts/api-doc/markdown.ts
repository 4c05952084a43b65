/** Tables of a document in Markdown. */

/** A piece of the OpenAPI document, which its own tests hold to its shape. */
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into, not built
export type Node = any

export const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`

export const table = (heads: readonly string[], rows: readonly string[]): string =>
  [row(...heads), `|${'---|'.repeat(heads.length)}`, ...rows].join('\n').replaceAll('|  |', '| |')

/** To the heading of a schema on the same page. */
export const linkTo = (name: string): string => `[${name}](#${name.toLowerCase()})`
