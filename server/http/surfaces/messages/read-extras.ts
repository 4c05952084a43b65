/** What a Messages request asks for beside the usual prices; and the refusal of threads and of servers to call. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Extra } from '#domain/extras.ts'
import { isClientRun, noteExtras, noteLongCaching } from '../billed-extras.ts'

/** Of all but the blocks. @throws invalid_request for a thread, unsupported_parameter */
export function readExtras(fields: JsonObject, into: Extra[]): void {
  if (isSet(fields['thread'])) throw noThreads()
  if (isSet(fields['mcp_servers'])) throw noServers()
  const { tools } = fields
  const declared: readonly unknown[] = Array.isArray(tools) ? tools : []
  for (const [i, tool] of declared.entries()) {
    if (isClients(tool)) noteLongCaching(tool, `tools[${i}]`, into)
  }
  noteExtras({ ...fields, tools: declared.map((tool) => (isClients(tool) ? null : tool)) }, into)
}

/** Without a type it is one that the client declares. */
function isClients(tool: unknown): tool is JsonObject {
  if (typeof tool !== 'object' || tool === null) return false
  const { type } = tool as JsonObject
  return !isSet(type) || isClientRun(type)
}

const isSet = (value: unknown): boolean => value !== null && value !== undefined

const noServers = (): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    'mcp_servers: the provider would call servers in the name of its operator; leave it out',
    { param: 'mcp_servers' },
  )

/** In the provider's own words: its SDK then sends the whole history. */
const noThreads = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    'thread: the gateway keeps no conversation; send the whole history in "messages"',
    {
      param: 'thread',
      metadata: { error_code: 'thread_unsupported_request', unsupported: ['gateway'] },
    },
  )
