/** Theirs → ours: `cache_control`, which means the same in every dialect that has it. */
import type { JsonObject } from '#domain/chat.ts'
import type { CacheMark } from '#domain/conversation.ts'
import { isObject } from '#domain/json.ts'

/** Five minutes, where the mark says nothing else. */
export function toCacheMark(holder: JsonObject): { readonly cacheMark?: CacheMark } {
  const mark = holder['cache_control']
  return isObject(mark) ? { cacheMark: { ttl: mark['ttl'] === '1h' ? '1h' : '5m' } } : {}
}
