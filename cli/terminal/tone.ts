/** Tones of text on a terminal, by their codes (ECMA-48, SGR): the runtime's module for them costs every start ten milliseconds. */

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export type Tone = keyof typeof CODES

/** Whether a terminal wants tones at all is the caller's to know. */
export function inTone(text: string, tone: Tone): string {
  const [on, off] = CODES[tone]
  return `\u001b[${on}m${text}\u001b[${off}m`
}
