/** Notes: a description and schema keywords for each field of a form, in addition to its schema. */
import type { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** A description, and keywords that the form's checks enforce and its schema cannot express (a pattern, a default). */
interface Keywords {
  readonly description: string
  readonly [keyword: string]: unknown
}

/** A field that is itself an object has notes of its own. */
type Note<Value> = Value extends readonly unknown[] | string | number | boolean
  ? Keywords | string
  : Keywords & { readonly fields: Notes<Value> }

/** A new field of the form does not compile until it has a note here. */
export type Notes<Form> = { readonly [Name in keyof Form]-?: Note<NonNullable<Form[Name]>> }

/** Keywords that apply to the nullable field; all others apply to its non-null value. */
const OF_THE_WHOLE: ReadonlySet<string> = new Set([
  'description',
  'default',
  'examples',
  'deprecated',
])

/** Writes the notes into the JSON schema of a form, in place. */
export function annotate<Form>(schema: JsonSchema, notes: Notes<Form>): void {
  for (const [name, note] of Object.entries<Keywords | string>(notes)) {
    const field = schema.properties?.[name]
    if (typeof field !== 'object') throw new Error(`the form has no field ${name}`)
    const { fields, ...keywords } = typeof note === 'string' ? { description: note } : note
    const value = valuePart(field)
    for (const [keyword, content] of Object.entries(keywords)) {
      const target = OF_THE_WHOLE.has(keyword) ? field : value
      Object.assign(target, { [keyword]: content })
    }
    if (fields !== undefined) annotate(value, fields as Notes<unknown>)
  }
}

/** The schema of the non-null value. */
const valuePart = (field: JsonSchema): JsonSchema =>
  (field.anyOf as readonly JsonSchema[] | undefined)?.find(({ type }) => type !== 'null') ?? field
