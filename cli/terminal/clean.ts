/** Removes control characters from names, notes and messages, so that they cannot control the terminal. */

// C0, DEL, C1, line and paragraph separators, and bidirectional marks.
const CONTROL = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** The text with each control character shown as `�`. */
export const clean = (text: string): string => text.replace(CONTROL, '\ufffd')

/** JSON leaves these as they are, and a terminal obeys them. */
const TERMINAL_CONTROL = /[\u007f-\u009f]/g

/** As `--json` prints it. */
export const toJson = (record: unknown, spaces = 2): string =>
  escapeControls(JSON.stringify(record, null, spaces))

export const escapeControls = (json: string): string =>
  json.replace(TERMINAL_CONTROL, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
