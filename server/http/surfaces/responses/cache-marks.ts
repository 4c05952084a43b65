/** The marks of a Responses request for caching, which some vendors take in tools, items and their parts. */
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { isObject, readList } from '#domain/json.ts'
import { noteLongCaching } from '../billed-extras.ts'

/** Appends what costs extra. @throws unsupported_parameter for what no card has a price for */
export function noteCacheMarks({ tools, input }: JsonObject, into: Extra[]): void {
  noteList(tools, 'tools', into)
  noteList(input, 'input', into)
}

/** A namespace has tools, an item tools or parts. */
const WITHIN = ['content', 'output', 'tools'] as const

function noteList(list: unknown, path: string, into: Extra[]): void {
  for (const [i, holder] of readList(list).entries()) {
    if (!isObject(holder)) continue
    const at = `${path}[${i}]`
    noteLongCaching(holder, at, into)
    for (const field of WITHIN) noteList(holder[field], `${at}.${field}`, into)
  }
}
