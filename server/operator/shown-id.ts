/** Ids as lists abbreviate them: to their end, which is all that differs within a day. */

const MARK = '(?:…|\\.{3})'
/** The shortest end that a list shows. */
const END = '([0-9a-hjkmnp-tv-z]{6,25})'

const SHOWN = {
  // The dashboard shows the end alone.
  'gen-': new RegExp(`^(?:gen-${MARK}?|${MARK})?${END}$`),
  key_: new RegExp(`^key_${MARK}?${END}$`),
  evt_: new RegExp(`^evt_${MARK}?${END}$`),
} as const

/** "gen-…xxn890", "gen-...xxn890": the end of the id that a text may stand for; null where it is not what a list shows. */
export const shownEndOf = (prefix: keyof typeof SHOWN, text: string): string | null =>
  SHOWN[prefix].exec(text)?.[1] ?? null
