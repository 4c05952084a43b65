/** The tools of a Responses request: those that the client carries out cost nothing, the vendor's need a price, or are cut. */
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { isObject, readList } from '#domain/json.ts'
import type { CutTool } from '#domain/work.ts'
import { refuseHostedTool, toHostedTool } from '../billed-extras.ts'

/** Carried out by the client: text for the vendor. */
const OF_CLIENT: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'apply_patch',
])

/** Codex and others name them unasked, and the model may do without. */
const UNASKED: ReadonlySet<unknown> = new Set(['web_search', 'tool_search'])

/** A card may have a price for them. What else the vendor runs names its account's files, or is billed by the hour or the image. */
const PRICEABLE = /^(?:tool_search|web_search(?:_preview)?(?:_20\d{2}_\d{2}_\d{2})?)$/

/**
 * The tools that are cut where they have no price, by their place in the list; empty for nearly all. Those that the client
 * insists on are appended to `into`. @throws unsupported_parameter
 */
export function readTools(body: JsonObject, into: Extra[]): ReadonlyMap<number, CutTool> {
  const { tools, tool_choice: choice, max_tool_calls: most } = body
  const cut = new Map<number, CutTool>()
  if (!Array.isArray(tools)) return cut
  const isFree = choice === undefined || choice === null || choice === 'auto'
  for (const [place, tool] of tools.entries()) {
    if (isOfClient(tool)) continue
    const extra = toExtra(tool, `tools[${place}]`, most)
    const type = isObject(tool) ? tool['type'] : undefined
    if (isFree && UNASKED.has(type)) cut.set(place, { type: String(type), extra })
    else into.push(extra)
  }
  return cut
}

/** Items that bring further tools within the conversation: what the vendor runs of them needs a price. @throws unsupported_parameter */
export function noteAddedTools({ input, max_tool_calls: most }: JsonObject, into: Extra[]): void {
  for (const [at, item] of readList(input).entries()) {
    const tools = isObject(item) ? readList(item['tools']) : []
    for (const [place, tool] of tools.entries()) {
      if (!isOfClient(tool)) into.push(toExtra(tool, `input[${at}].tools[${place}]`, most))
    }
  }
}

function toExtra(tool: unknown, path: string, most: unknown): Extra {
  const type = isObject(tool) ? tool['type'] : undefined
  if (typeof type !== 'string' || !PRICEABLE.test(type)) {
    throw refuseHostedTool(`${path}.type`, type)
  }
  return toHostedTool({ type: type.replace('_preview', '') }, path, most)
}

function isOfClient(tool: unknown): boolean {
  if (!isObject(tool)) return false
  const { type, tools, environment } = tool
  if (type === 'namespace') return !Array.isArray(tools) || tools.every(isOfClient)
  if (type === 'shell') {
    return !isObject(environment) || environment['type'] === 'local'
  }
  return OF_CLIENT.has(type)
}
