/** Lines of a JSON text, for errors: the parser reports none. */
import type { DocumentPath } from '#domain/document-fault.ts'

/** The line of a value, else of the innermost one that would contain it. */
export function lineOfValue(text: string, path: DocumentPath): number {
  let found = { depth: 0, at: 0 }
  scan(text, (place, at) => {
    const isAround = place.length <= path.length && place.every((key, depth) => key === path[depth])
    if (isAround && place.length >= found.depth) found = { depth: place.length, at }
  })
  return lineAt(text, found.at)
}

/** The line of the first character that makes the text no JSON; null where it is JSON. */
export function lineOfFault(text: string): number | null {
  const at = scan(text, () => {})
  return at === null ? null : lineAt(text, at)
}

export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length

const SPACE = /\s*/y
const TEXT = /"(?:[^"\\\n]|\\.)*"/y
const WORD = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Visits each value with its path and position. Where the text is no JSON: the position of the fault. */
function scan(text: string, visit: (path: DocumentPath, at: number) => void): number | null {
  let at = 0
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const [taken = null] = pattern.exec(text) ?? []
    at += taken?.length ?? 0
    return taken
  }
  const takeSign = (sign: string): boolean => {
    take(SPACE)
    if (text[at] !== sign) return false
    at++
    return true
  }
  /** Members until `close`; false at a fault. */
  const takeMembers = (close: string, member: (index: number) => boolean): boolean => {
    if (takeSign(close)) return true
    for (let index = 0; member(index); index++) {
      if (takeSign(close)) return true
      if (!takeSign(',')) return false
    }
    return false
  }
  const takeValue = (path: DocumentPath): boolean => {
    take(SPACE)
    visit(path, at)
    if (takeSign('[')) return takeMembers(']', (index) => takeValue([...path, index]))
    if (!takeSign('{')) return (take(TEXT) ?? take(WORD)) !== null
    return takeMembers('}', () => {
      take(SPACE)
      const name = take(TEXT)
      return name !== null && takeSign(':') && takeValue([...path, JSON.parse(name) as string])
    })
  }
  const isWhole = takeValue([])
  take(SPACE)
  return isWhole && at === text.length ? null : at
}
