/** Renders one schema of the API as table rows: field paths, types and descriptions. */
import { linkTo, type Node, row, table } from './markdown.ts'

/** Direction: request fields may be required, response fields may be absent. */
export type Side = 'asked' | 'answered'

type Schemas = Readonly<Record<string, Node>>

/** The tables of a schema, one for each of its alternatives; without the fields that `base` has too. */
export function fieldsOf(schemas: Schemas, name: string, side: Side, base?: string): string {
  const schema = schemas[name]
  if (!schema) throw new Error(`no schema is called ${name}`)
  const known = Object.keys((base && schemas[base]?.properties) || {})
  const alternatives: readonly Node[] = schema.anyOf ?? schema.oneOf ?? [schema]
  return alternatives
    .map((one) => {
      const rows = rowsOf(schemas, name, one, side).filter(
        ([path]) => !known.includes(path.replace(/[.[].*/, '')),
      )
      const head = alternatives.length > 1 && one.description ? `${one.description}\n\n` : ''
      return (
        head +
        table(
          ['field', 'type', ''],
          rows.map(([path, ...cells]) => row(`\`${path}\``, ...cells)),
        )
      )
    })
    .join('\n\n')
}

type Row = readonly [path: string, type: string, meaning: string]

function rowsOf(schemas: Schemas, owner: string, schema: Node, side: Side, path = ''): Row[] {
  return Object.entries<Node>(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}${name}`
    const isRequired = (schema.required ?? []).includes(name)
    const note = { asked: isRequired && '**required**', answered: !isRequired && 'may be absent' }[
      side
    ]
    const type = [typeOf(schemas, owner, field), note].filter(Boolean).join('; ')
    const { inner, suffix } = unwrap(field)
    const goesOn = inner.properties && !sameAs(schemas, owner, inner)
    return [
      [at, type, meaningOf(field)] as const,
      ...(goesOn ? rowsOf(schemas, owner, inner, side, `${at}${suffix}.`) : []),
    ]
  })
}

/** What is inside of `null` and of lists. */
function unwrap(field: Node): { inner: Node; suffix: string } {
  const choices: readonly Node[] = (field.anyOf ?? []).filter(({ type }: Node) => type !== 'null')
  if (choices.length === 1 && choices[0]) return unwrap(choices[0])
  const { items } = field
  if (items && !items.$ref) {
    const { inner, suffix } = unwrap(items)
    return { inner, suffix: `[]${suffix}` }
  }
  return { inner: field, suffix: '' }
}

const meaningOf = (field: Node): string =>
  field.description ?? unwrap(field).inner.description ?? ''

/** The schema that has a name and the very same fields. */
function sameAs(schemas: Schemas, owner: string, schema: Node): string | undefined {
  const fields = Object.keys(schema.properties ?? {}).join()
  if (fields === '') return undefined
  return Object.keys(schemas).find(
    (name) => name !== owner && Object.keys(schemas[name]?.properties ?? {}).join() === fields,
  )
}

function typeOf(schemas: Schemas, owner: string, field: Node): string {
  const { default: unless } = field
  const said = wordsOf(schemas, owner, field)
  return unless === undefined ? said : `${said}, unless said: \`${unless}\``
}

function wordsOf(schemas: Schemas, owner: string, field: Node): string {
  if (field.$ref) return linkTo(field.$ref.split('/').at(-1))
  const same = sameAs(schemas, owner, field)
  if (same) return linkTo(same)
  const several: readonly Node[] | undefined = field.anyOf ?? field.oneOf
  if (several) return [...new Set(several.map((one) => wordsOf(schemas, owner, one)))].join(' or ')
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``
  if (field.enum?.length > MAX_WORDS) return 'one of the [codes](#codes)'
  if (field.enum) return field.enum.map((word: string) => `\`${word}\``).join(' ')
  if (Array.isArray(field.type)) {
    return field.type
      .map((type: string) => wordsOf(schemas, owner, { ...field, type }))
      .join(' or ')
  }
  return plain(schemas, owner, field)
}

/** Only `code` has more, and a table of its own. */
const MAX_WORDS = 20

const DECIMAL = '^-?\\d+(\\.\\d+)?$'

function plain(schemas: Schemas, owner: string, field: Node): string {
  switch (field.type) {
    case 'array': {
      const most = field.maxItems ? ` (at most ${field.maxItems})` : ''
      return `list of ${field.items ? wordsOf(schemas, owner, field.items) : 'anything'}${most}`
    }
    case 'string': {
      if (field.format === 'date-time') return 'time'
      if (field.pattern === DECIMAL) return 'decimal string'
      return `string${field.maxLength ? ` (at most ${field.maxLength} characters)` : ''}`
    }
    case 'integer':
    case 'number': {
      const { minimum, maximum } = field
      if (maximum !== undefined && maximum < 2 ** 31 - 1)
        return `${field.type} (${minimum} to ${maximum})`
      return minimum > 0 ? `${field.type} (at least ${minimum})` : field.type
    }
    default:
      return field.type ?? 'anything'
  }
}
