/** Whether a vendor's name for a model on its bill is our name for it: a bill names the snapshot that an alias led to. */

/** A date at the end: `-2025-08-07`, `-20250929`, `@20251101`; or the word for the newest. */
const SNAPSHOT = /[-@](?:\d{4}-\d\d-\d\d|20\d{6}|latest|default)$/

const stemOf = (name: string): string => name.replace(SNAPSHOT, '')

/**
 * The name that both sides share. Names that are on both sides stand for themselves; where one of ours has none on the bill, all
 * snapshots of its stem are one. `known` are theirs by name to ours, as an operator stated them.
 */
export function groupNames(
  ours: Iterable<string>,
  theirs: Iterable<string>,
  known: Readonly<Record<string, string>> = {},
): (name: string) => string {
  const stated = new Map(Object.entries(known))
  const named = new Set([...theirs].map((name) => stated.get(name) ?? name))
  const loose = new Set([...ours].filter((name) => !named.has(name)).map(stemOf))
  return (name) => {
    const own = stated.get(name) ?? name
    const stem = stemOf(own)
    return loose.has(stem) ? stem : own
  }
}
