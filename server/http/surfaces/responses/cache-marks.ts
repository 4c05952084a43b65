/** The marks of a Responses request for caching, which some vendors take in tools, items and their parts. */
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { isObject, readList } from '#domain/json.ts'
import { noteLongCaching } from '../billed-extras.ts'

/** Appends what costs extra. @throws unsupported_parameter for what no card has a price for */
export function noteCacheMarks({ tools, input }: JsonObject, into: Extra[]): void {
  for (const [i, tool] of readList(tools).entries()) noteLongCaching(tool, `tools[${i}]`, into)
  for (const [i, item] of readList(input).entries()) {
    noteLongCaching(item, `input[${i}]`, into)
    if (!isObject(item)) continue
    for (const field of ['content', 'output'] as const) {
      for (const [n, part] of readList(item[field]).entries()) {
        noteLongCaching(part, `input[${i}].${field}[${n}]`, into)
      }
    }
  }
}
