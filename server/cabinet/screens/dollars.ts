/** Dollars as people type them into a form. */

/** A thousand with its separator, or one with three places: nobody can tell. */
const AMBIGUOUS = /^[1-9]\d{0,2},\d{3}$/

/** As the verbs read them, which refuse what it is not sure of; null for an empty field. */
export function readDollars(text: string | null): string | null {
  const stated = (text ?? '').trim().replace(/^\$/, '')
  if (stated === '') return null
  return AMBIGUOUS.test(stated) ? stated : stated.replace(',', '.')
}
