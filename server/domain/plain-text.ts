/** Text of one line, which lists, logs and terminals show as it is. */

/** C0, DEL, C1, line and paragraph separators, for a class of characters: they would break lines, or control a terminal. */
export const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029'

const PLAIN = new RegExp(`^[^${CONTROL}]*$`)

export const isPlain = (text: string): boolean => PLAIN.test(text)
