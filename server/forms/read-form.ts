/** Reads input against a schema; the error names the path of the first field that does not fit, and why. */
import type * as z from 'zod/mini'

export type FormResult<T> =
  | { readonly fits: true; readonly value: T }
  | { readonly fits: false; readonly path: readonly PropertyKey[]; readonly message: string }

/** Never throws: how a misfit is answered is the caller's decision. */
export async function readForm<Schema extends z.ZodMiniType>(
  schema: Schema,
  untrusted: unknown,
): Promise<FormResult<z.output<Schema>>> {
  const parsed = schema.safeParse(untrusted)
  if (parsed.success) return { fits: true, value: parsed.data }
  // The words of the parser are loaded only when it has something to say.
  const { default: english } = await import('zod/v4/locales/en.js')
  const { localeError } = english()
  const issue = schema.safeParse(untrusted, { error: (raw) => messageFor(raw) ?? localeError(raw) })
    .error?.issues[0]
  return { fits: false, path: issue?.path ?? [], message: issue?.message ?? 'invalid input' }
}

/** What the schema itself has no words for, in words that follow the name of a field; undefined where the parser's do. */
function messageFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'too_small':
      return isText(issue.origin) && issue.minimum === 1
        ? 'must not be empty'
        : `must be at least ${issue.minimum}${unitOf(issue.origin)}${describeInput(issue.input)}`
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}${describeInput(issue.input)}`
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}${describeInput(issue.input)}`
    default:
      return undefined
  }
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' }

const unitOf = (origin: string): string => UNITS[origin] ?? ''

const isText = (origin: string): boolean => origin === 'string' || origin === 'array'

const MOST_REPEATED_CHARS = 40

/** Long texts are not repeated: their length is what is wrong with them. */
function describeInput(input: unknown): string {
  if (typeof input === 'number') return ` (got ${input})`
  return typeof input === 'string' && input.length <= MOST_REPEATED_CHARS ? ` (got "${input}")` : ''
}
