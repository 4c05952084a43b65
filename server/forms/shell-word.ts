/** A word of a command line, so that a command that is shown can be pasted. */

/** As a shell reads it back. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
