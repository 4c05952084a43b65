/** SQL with bindings by name or in order, as the statements of the engine are written, in PostgreSQL's own form. */

export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Uint8Array
  | readonly Value[]
  /** Asked for whenever the statement is sent, which may be more than once. */
  | (() => Value)
export type Named = Readonly<Record<string, Value>>
export type Bindings = readonly (Value | Named)[]

interface Prepared {
  readonly text: string
  /** In the order of their numbers; empty where the bindings are in order. */
  readonly names: readonly string[]
}

const known = new Map<string, Prepared>()

/** `$name` becomes `$1`; `?` too. There is no question mark in the engine's own words. */
function prepare(sql: string): Prepared {
  let prepared = known.get(sql)
  if (prepared !== undefined) return prepared
  const names: string[] = []
  let places = 0
  const text = sql.replace(/\$([a-z]\w*)|\?/gi, (_, name?: string) => {
    if (name === undefined) return `$${++places}`
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  prepared = { text, names }
  known.set(sql, prepared)
  return prepared
}

const isNamed = (binding: Value | Named): binding is Named =>
  typeof binding === 'object' &&
  binding !== null &&
  !Array.isArray(binding) &&
  !(binding instanceof Uint8Array)

/** What the client sends. */
export function bind(
  sql: string,
  bindings: Bindings,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { text, names } = prepare(sql)
  const [first] = bindings
  if (first !== undefined && isNamed(first)) {
    return { text, values: names.map((name) => toDriver(first[name])) }
  }
  return { text, values: (bindings as readonly Value[]).map(toDriver) }
}

/** Of whatever size, an integer is sent as one type: a statement is planned once. */
function toDriver(value: Value): unknown {
  if (value === undefined) return null
  if (typeof value === 'function') return toDriver(value())
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (typeof value === 'string') return withoutNul(value)
  return Array.isArray(value) ? toArray(value) : value
}

/** It has no text with a NUL, which clients may send. */
export const withoutNul = (value: string): string =>
  value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value

/** The text of an array. */
const toArray = (values: readonly Value[]): string => `{${values.map(toElement).join(',')}}`

function toElement(value: Value): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value !== 'string') return String(value)
  return ESCAPED.test(value) ? `"${withoutNul(value).replace(/[\\"]/g, '\\$&')}"` : `"${value}"`
}

/** Nearly no text of an array has one. */
const ESCAPED = /[\\"\0]/

/** Every integer that the engine keeps is within 53 bits; what may be larger is selected as text. */
export const fromValue = (value: unknown): unknown =>
  typeof value === 'bigint' ? Number(value) : value

export function fromDriver<Row>(row: Record<string, unknown>): Row {
  for (const name in row) row[name] = fromValue(row[name])
  return row as Row
}
