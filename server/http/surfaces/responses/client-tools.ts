/**
 * The tools of a Responses request that its client carries out. On other wires all of them are functions; an answer's calls come
 * back as the client declared the tool (contract §7).
 */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readString, readText } from '#domain/json.ts'

/** `custom` takes a text, the others what their names say; none of them has an equivalent elsewhere. */
export type ClientToolKind = 'function' | 'custom' | 'local_shell' | 'shell' | 'apply_patch'

export interface ClientTool {
  readonly kind: ClientToolKind
  /** As which the model knows it: `name`, or `namespace__name`. */
  readonly fullName: string
  readonly name: string
  readonly namespace?: string
  /** As the client declared it. */
  readonly declared: JsonObject
  readonly path: string
}

/** Those without a name too, which no wire takes. */
export const toClientTools = (tools: unknown): readonly ClientTool[] =>
  readList(tools).flatMap((tool, i) => (isObject(tool) ? toTools(tool, `tools[${i}]`) : []))

function toTools(tool: JsonObject, path: string, namespace?: string): readonly ClientTool[] {
  const { type } = tool
  if (type === 'namespace') {
    const group = readString(tool['name']) ?? ''
    return readList(tool['tools']).flatMap((one, i) =>
      isObject(one) ? toTools(one, `${path}.tools[${i}]`, group) : [],
    )
  }
  const kind = KINDS.find((known) => known === type)
  if (kind === undefined) return []
  // A tool of the vendor's design has no name but its type.
  const name = readText(tool['name']) ?? (kind === 'function' || kind === 'custom' ? '' : kind)
  return [
    {
      kind,
      fullName: fullNameOf(name, namespace),
      name,
      ...(namespace !== undefined && { namespace }),
      declared: tool,
      path,
    },
  ]
}

const KINDS: readonly ClientToolKind[] = [
  'function',
  'custom',
  'local_shell',
  'shell',
  'apply_patch',
]

/** As which a call of a namespace comes back to a model that knows none. */
export const fullNameOf = (name: string, namespace?: string): string =>
  namespace === undefined || name === '' ? name : `${namespace}__${name}`
