/** Suggests what a mistyped word was meant to be. */

/** The candidate with the smallest edit distance to `word`; undefined when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(word)
  const most = Math.max(1, Math.floor(wanted.length / 3))
  let best: string | undefined
  let bestEdits = most + 1
  for (const candidate of candidates) {
    const edits = editsBetween(wanted, plain(candidate))
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** Ignores case and separators, which are mistyped most often. */
const plain = (text: string): string => text.toLowerCase().replace(/[-_. ]/g, '')

/** The Levenshtein distance, row by row; two swapped letters count as one edit. */
function editsBetween(a: string, b: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwapped ? (before[j - 2] ?? 0) + 1 : replace
      next.push(Math.min(replace, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** The second line of an error message, of what a mistyped word was meant to be; empty without a suggestion. */
export const suggest = (word: string, candidates: readonly string[]): string =>
  didYouMean(nearest(word, candidates))

/** The same of what is known already. */
export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `\ndid you mean ${meant}?`
