/** Parses input with a schema; a failure has the path of the first invalid field and a message. */
import type * as z from 'zod/mini'
import { nearest } from './nearest.ts'

export type FormResult<T> =
  | { readonly fits: true; readonly value: T }
  | { readonly fits: false; readonly path: readonly PropertyKey[]; readonly message: string }

/** Never throws: the caller decides how to report invalid input. */
export async function readForm<Schema extends z.ZodMiniType>(
  schema: Schema,
  untrusted: unknown,
): Promise<FormResult<z.output<Schema>>> {
  const parsed = schema.safeParse(untrusted)
  if (parsed.success) return { fits: true, value: parsed.data }
  // The parser's messages are loaded only for invalid input.
  const { default: english } = await import('zod/v4/locales/en.js')
  const { localeError } = english()
  const issues =
    schema.safeParse(untrusted, { error: (raw) => messageFor(raw) ?? localeError(raw) }).error
      ?.issues ?? []
  // A field that is misspelt is often missing as well: the misspelling is the cause.
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys')
  const issue = unknown ?? issues[0]
  const path = [...(issue?.path ?? []), ...(unknown?.keys.slice(0, 1) ?? [])]
  return { fits: false, path, message: issue?.message ?? 'invalid input' }
}

/** Our message for an issue, phrased to follow a field's name; undefined for the parser's own. */
export function messageFor(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int'
        ? `must be an integer${describeInput(issue.input)}`
        : undefined
    case 'too_small':
      return isText(issue.origin) && issue.minimum === 1
        ? 'must not be empty'
        : `must be at least ${issue.minimum}${unitOf(issue.origin)}${describeInput(issue.input)}`
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}${describeInput(issue.input)}`
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}${describeInput(issue.input)}`
    case 'unrecognized_keys': {
      const meant = nearest(issue.keys[0] ?? '', 'inst' in issue ? fieldsOf(issue.inst) : [])
      return `there is no such field${meant === undefined ? '' : `; did you mean ${meant}?`}`
    }
    default:
      return undefined
  }
}

/** The names that an object's schema knows. */
const fieldsOf = (schema: z.core.$ZodRawIssue['inst']): readonly string[] => {
  const def = schema?._zod.def as Partial<z.core.$ZodObjectDef> | undefined
  return Object.keys(def?.shape ?? {})
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' }

const unitOf = (origin: string): string => UNITS[origin] ?? ''

const isText = (origin: string): boolean => origin === 'string' || origin === 'array'

const MAX_REPEATED_CHARS = 40

/** Quotes short inputs only. */
function describeInput(input: unknown): string {
  if (typeof input === 'number') return ` (got ${input})`
  return typeof input === 'string' && input.length <= MAX_REPEATED_CHARS ? ` (got "${input}")` : ''
}
