/** `1 entry`, `2 entries`. */
export const count = (number: number, noun: string, nouns = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : nouns}`
