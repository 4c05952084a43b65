/** Ours: `tools` and `tool_choice` of a Responses request, all of them functions. */
import type { JsonObject } from '#domain/chat.ts'
import type { FunctionTool, ToolChoice } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { type ClientTool, fullNameOf, toClientTools } from './client-tools.ts'

export const toTools = (tools: unknown): readonly FunctionTool[] => toClientTools(tools).map(toTool)

function toTool(tool: ClientTool): FunctionTool {
  const { kind, fullName, declared, path } = tool
  const stated = kind === 'function' ? toFunction(declared) : toSpecial(tool)
  return {
    type: 'function',
    path,
    namePath: `${path}.name`,
    ...(fullName !== '' && { name: fullName }),
    ...stated,
    ...toCacheMark(declared),
  }
}

type Stated = Pick<FunctionTool, 'description' | 'schema' | 'isStrict'>

function toFunction({ description, parameters, strict }: JsonObject): Stated {
  const words = readString(description)
  return {
    ...(words !== undefined && { description: words }),
    ...(isObject(parameters) && { schema: parameters }),
    isStrict: strict === true,
  }
}

const toSpecial = ({ kind, declared }: ClientTool): Stated => ({
  ...(kind === 'custom' ? toCustom(declared) : SPECIAL[kind as keyof typeof SPECIAL]),
  isStrict: false,
})

const text = (description: string): JsonObject => ({ type: 'string', description })
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** A text is a function's only argument. No other wire holds a model to a grammar, so it is told of it. */
function toCustom({ description, format }: JsonObject): Omit<Stated, 'isStrict'> {
  const { syntax, definition } = readObject(format)
  const grammar = readText(definition)
  const kind = readText(syntax) ?? 'given'
  const words = [
    readText(description),
    grammar && `The input must match this grammar (${kind}):\n${grammar}`,
  ].filter((one) => one !== undefined && one !== '')
  return {
    ...(words.length > 0 && { description: words.join('\n\n') }),
    schema: object({ input: text('The whole input of the tool, as plain text.') }, ['input']),
  }
}

const strings = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description,
})
const milliseconds = { type: 'integer', description: 'Milliseconds after which it is stopped.' }

/** What OpenAI's models know of these tools by heart. */
const SPECIAL = {
  local_shell: {
    description: "Runs a command on the user's machine, and returns what it prints.",
    schema: object(
      {
        command: strings('The program and its arguments.'),
        working_directory: text('Where it runs.'),
        timeout_ms: milliseconds,
        env: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Variables of its environment.',
        },
      },
      ['command'],
    ),
  },
  shell: {
    description: 'Runs commands in a shell, and returns what each of them prints.',
    schema: object(
      {
        commands: strings('Commands, as they would be typed.'),
        timeout_ms: milliseconds,
        max_output_length: {
          type: 'integer',
          description: 'The most characters of output that are returned.',
        },
      },
      ['commands'],
    ),
  },
  apply_patch: {
    description: 'Creates, changes or deletes one file.',
    schema: object(
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: text('The path of the file.'),
        diff: text(
          'For create_file every line of the file behind a "+"; for update_file hunks that begin with "@@", whose lines begin with " ", "-" or "+". Left out for delete_file.',
        ),
      },
      ['type', 'path'],
    ),
  },
} as const

/** Undefined where the client leaves it to the model. */
export function toToolChoice(choice: unknown): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  const stated = readObject(choice)
  if (stated['type'] === 'allowed_tools') {
    const names = readList(stated['tools']).flatMap((tool) => nameOf(readObject(tool)) ?? [])
    return { mode: 'allowed', names, isRequired: stated['mode'] === 'required' }
  }
  const name = nameOf(stated)
  return name === undefined ? { mode: 'unknown' } : { mode: 'tool', name }
}

/** A tool of the vendor's design is named by its type. */
function nameOf({ type, name, namespace }: JsonObject): string | undefined {
  const stated = readText(name)
  if (stated !== undefined) return fullNameOf(stated, readText(namespace))
  return typeof type === 'string' && Object.hasOwn(SPECIAL, type) ? type : undefined
}
