/** URLs as operators write them. */

/**
 * Parses a URL with scheme and host, null for anything else. The URL parser alone also accepts `https:host`, `https:///host`,
 * backslashes and white space, and repairs them; other programs, which get the text as it was written, do not.
 */
export const parseAbsoluteUrl = (text: string): URL | null =>
  WRITTEN_IN_FULL.test(text) ? URL.parse(text) : null

/** No control characters, white space or backslashes anywhere. */
const WRITTEN_IN_FULL = /^[a-z][a-z\d+.-]*:\/\/[^/\\\s\p{Cc}][^\\\s\p{Cc}]*$/iu
