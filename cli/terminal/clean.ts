/** Removes control characters from names, notes and messages, so that they cannot control the terminal. */

// C0, DEL, C1, line and paragraph separators, and bidirectional marks.
const CONTROL = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** The text with each control character shown as `�`. */
export const clean = (text: string): string => text.replace(CONTROL, '\ufffd')
