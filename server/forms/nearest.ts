/** What a mistyped word was probably meant to be. */

/** The candidate closest to `word` by edits of one character, or undefined when none is close. */
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

/** People misremember case and hyphens more often than letters. */
const plain = (text: string): string => text.toLowerCase().replace(/[-_. ]/g, '')

/** Levenshtein's distance, one row at a time; two letters the wrong way round are one edit. */
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

/** The second line of a refusal, or nothing where nothing is near. */
export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `\ndid you mean ${meant}?`
