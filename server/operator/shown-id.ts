/** Ids of requests as lists abbreviate them: to their end, which is all that differs within a day. */

/** "gen-…xxn890", "gen-...xxn890", or the end alone; the shortest end that a list shows has six characters. */
const SHOWN = /^(?:gen-(?:…|\.{3})?|…|\.{3})?([0-9a-hjkmnp-tv-z]{6,25})$/

/** The end of the id that a text may stand for; null where it is not what a list shows. */
export const shownEndOf = (text: string): string | null => SHOWN.exec(text)?.[1] ?? null
