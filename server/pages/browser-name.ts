/** What people call the browser that says this of itself: "Firefox, Linux". */

const BROWSERS = [
  ['Firefox/', 'Firefox'],
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['YaBrowser/', 'Yandex'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** Null where it is none of these. */
export function browserName(agent: string): string | null {
  const of = (known: readonly (readonly [string, string])[]): string | undefined =>
    known.find(([mark]) => agent.includes(mark))?.[1]
  const names = [of(BROWSERS), of(SYSTEMS)].filter((name) => name !== undefined)
  return names.length > 0 ? names.join(', ') : null
}
