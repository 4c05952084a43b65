/** Theirs → ours: how often the vendor called its tools, as Anthropic, OpenRouter and xAI state it. */

import { isObject } from '#domain/json.ts'
import type { ServerCalls } from '#domain/usage.ts'
import { readCount } from './read-json.ts'

const COUNT = /^([a-z_]{1,48})_(?:requests|calls)$/

/** More kinds of tools than any vendor has. */
export const MAX_TOOLS = 16

/** Null where a usage has no such counts. @example { web_search_requests: 2 } → web_search 2 */
export function readServerCalls(stated: unknown): ServerCalls | null {
  if (!isObject(stated)) return null
  const calls: Record<string, number> = {}
  for (const [name, value] of Object.entries(stated).slice(0, MAX_TOOLS)) {
    const tool = COUNT.exec(name)?.[1]
    const count = readCount(value)
    if (tool !== undefined && count !== undefined && count > 0) calls[tool] = count
  }
  return calls
}
