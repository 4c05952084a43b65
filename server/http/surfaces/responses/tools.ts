/** The tools of a Responses request: those that the client carries out cost nothing, the vendor's are cut or refused. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { isObject } from '../../read/json.ts'

/** Carried out by the client: text for the vendor. */
const OF_CLIENT: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'namespace',
  'local_shell',
  'apply_patch',
])

/** Codex and others name them unasked, and the model may do without. */
const CUT: ReadonlySet<unknown> = new Set(['web_search', 'tool_search'])

/** The types of the tools that are cut from the request, by their index; empty for nearly all. @throws unsupported_parameter */
export function readTools(body: JsonObject): ReadonlyMap<number, string> {
  const { tools, tool_choice: choice } = body
  const cut = new Map<number, string>()
  if (!Array.isArray(tools)) return cut
  const isFree = choice === undefined || choice === null || choice === 'auto'
  for (const [index, tool] of tools.entries()) {
    const type = isObject(tool) ? tool['type'] : undefined
    if (isFree && CUT.has(type)) cut.set(index, type as string)
    else if (!isOfClient(tool)) throw unpriced(`tools[${index}]`, type)
  }
  return cut
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

const unpriced = (path: string, type: unknown): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    `${path}.type: a tool that the vendor runs${typeof type === 'string' ? `, such as ${type.slice(0, 64)},` : ''} is billed by the call or by the hour, and no model here has a price for that; leave it out`,
    { param: `${path}.type` },
  )
