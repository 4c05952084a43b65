/** The filter language of `/`: words, `field:part` and `field:"exact value"`; a row must match all of them, and `!` negates one. */

/** A row as filters see it: its searchable text, and its fields by name. */
export interface Filterable {
  readonly text: readonly (string | null)[]
  readonly fields: Readonly<Record<string, string | number | null>>
}

type Test = (row: Filterable) => boolean

/** "key:prod status:5xx slow:10s !demo"; an empty filter lets everything pass. */
export function readFilter(text: string): Test {
  const words = text.match(/!*[a-z]+:"[^"]*"|\S+/g) ?? []
  const tests = words.filter((word) => word !== '!').map(readWord)
  return (row) => tests.every((test) => test(row))
}

function readWord(word: string): Test {
  if (word.startsWith('!')) {
    const test = readWord(word.slice(1))
    return (row) => !test(row)
  }
  const [, field, value] = /^([a-z]+):(.+)$/.exec(word) ?? []
  if (field === undefined || value === undefined) return ({ text }) => text.some(holds(word))
  if (field === 'slow') {
    const leastMs = readMs(value)
    return ({ fields }) => Number(fields['ms'] ?? -1) >= leastMs
  }
  const [, whole] = /^"([^"]*)"$/.exec(value) ?? []
  const wanted = (whole ?? value).toLowerCase()
  return ({ fields }) => {
    const own = fields[field]
    if (own === undefined || own === null) return false
    if (whole !== undefined) return String(own).toLowerCase() === wanted
    if (field === 'status' && /^[1-5]xx$/.test(wanted)) return String(own)[0] === wanted[0]
    return typeof own === 'number' ? String(own) === wanted : own.toLowerCase().includes(wanted)
  }
}

/** A filter for exactly this value; for a value with a quote in it, a filter for each of its words. */
export const exactFilter = (field: string, value: string): string =>
  value.includes('"')
    ? (value.match(/[^\s"]+/g) ?? []).map((word) => `${field}:${word}`).join(' ')
    : `${field}:"${value}"`

const holds = (word: string) => (text: string | null) =>
  text?.toLowerCase().includes(word.toLowerCase()) ?? false

/** "10s", "500ms", "2m"; a bare number is seconds. */
function readMs(value: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(value) ?? []
  const factor = unit === 'ms' ? 1 : unit === 's' ? 1_000 : 60_000
  return amount === undefined ? Number.POSITIVE_INFINITY : Number(amount) * factor
}
