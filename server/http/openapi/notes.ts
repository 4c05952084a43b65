/** Notes: what is said of the fields of a form beside what its own schema says; each field must have one. */
import type { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** Words, and keywords that the form's checks know and its schema cannot tell (a pattern, a default). */
interface Told {
  readonly description: string
  readonly [keyword: string]: unknown
}

/** A field that is itself an object has notes of its own. */
type Note<Value> = Value extends readonly unknown[] | string | number | boolean
  ? Told | string
  : Told & { readonly fields: Notes<Value> }

/** A field that the form gains does not compile before it is told here. */
export type Notes<Form> = { readonly [Name in keyof Form]-?: Note<NonNullable<Form[Name]>> }

/** Told of the field as a whole, null included; other keywords are about its value. */
const OF_THE_WHOLE: ReadonlySet<string> = new Set([
  'description',
  'default',
  'examples',
  'deprecated',
])

/** Writes the notes into the JSON schema of a form, in place. */
export function annotate<Form>(schema: JsonSchema, notes: Notes<Form>): void {
  for (const [name, note] of Object.entries<Told | string>(notes)) {
    const field = schema.properties?.[name]
    if (typeof field !== 'object') throw new Error(`the form has no field ${name}`)
    const { fields, ...keywords } = typeof note === 'string' ? { description: note } : note
    const value = valuePart(field)
    for (const [keyword, told] of Object.entries(keywords)) {
      const target = OF_THE_WHOLE.has(keyword) ? field : value
      Object.assign(target, { [keyword]: told })
    }
    if (fields !== undefined) annotate(value, fields as Notes<unknown>)
  }
}

/** What a field is when it is not null. */
const valuePart = (field: JsonSchema): JsonSchema =>
  (field.anyOf as readonly JsonSchema[] | undefined)?.find(({ type }) => type !== 'null') ?? field
