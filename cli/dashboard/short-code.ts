/** Error codes in a narrow column, such that no two of them look alike. */
import { ERROR_CODES } from '#domain/errors.ts'
import { cutTo } from '../terminal/cut.ts'

const CODES = Object.keys(ERROR_CODES)

/** The code's beginning; where another code begins alike, its last word too: "rate_lim…", "m…allowed", "mod…found". */
export function shortCode(code: string, columns: number): string {
  const cut = cutTo(code, columns)
  if (cut === code || !CODES.some((other) => other !== code && cutTo(other, columns) === cut)) {
    return cut
  }
  const room = columns - 1
  const last = code.slice(code.lastIndexOf('_') + 1)
  const end = last.length < room ? last : last.slice(0, Math.floor(room / 2))
  return `${code.slice(0, room - end.length)}…${end}`
}
