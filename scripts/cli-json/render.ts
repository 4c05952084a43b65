// Turns the types of what commands print into JSON Schemas: the compiler itself is asked what they are.
import { fileURLToPath } from 'node:url'
import {
  API,
  type Checker,
  type Symbol as Named,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/async'

export type Schema = { readonly [keyword: string]: unknown }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RECORDS = `${ROOT}scripts/cli-json/records.ts`
/** Of that file and what it imports: to read the whole repository takes the compiler twice as long. */
const PROJECT = `${ROOT}scripts/cli-json/tsconfig.json`

/** The schema of every command, by its words. */
export async function renderSchemas(): Promise<ReadonlyMap<string, Schema>> {
  const api = new API({ cwd: ROOT })
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [PROJECT] })
    const [project] = await snapshot.getProjects()
    if (project === undefined) throw new Error('the compiler knows no project here')
    const { checker, program } = project
    const file = await program.getSourceFile(RECORDS)
    const module = file && (await checker.getSymbolAtLocation(file))
    const exported = module && (await checker.getExportsOfModule(module))
    const records = exported?.find(({ name }) => name === 'JsonRecords')
    if (records === undefined) throw new Error(`${RECORDS} has no JsonRecords`)
    const renderer = createRenderer(checker)
    const schemas = new Map<string, Schema>()
    for (const command of await checker.getPropertiesOfType(
      await checker.getDeclaredTypeOfSymbol(records),
    )) {
      schemas.set(command.name, await renderer.document(command))
    }
    return schemas
  } finally {
    await api.close()
  }
}

const titleOf = (command: string): string =>
  command === 'error'
    ? 'what a command under --json says when it fails'
    : `gatewayctl ${command} --json`

/** A type that holds itself is described no deeper than this. */
const ANYTHING: Schema = {}

function createRenderer(checker: Checker) {
  const done = new Map<number, Schema>()
  const under = new Set<number>()

  const render = async (type: Type): Promise<Schema> => {
    const known = done.get(type.id)
    if (known) return known
    if (under.has(type.id)) return ANYTHING
    under.add(type.id)
    const schema = await renderNew(type)
    under.delete(type.id)
    done.set(type.id, schema)
    return schema
  }

  const renderNew = async (type: Type): Promise<Schema> => {
    const simple = renderSimple(type)
    if (simple) return simple
    if (type.isUnionType()) return await renderUnion(await type.getTypes())
    if (type.isIntersectionType()) {
      // A number of a kind of its own is a number.
      const parts = (await type.getTypes()).map(renderSimple)
      const primitive = parts.find((part) => part !== undefined)
      if (primitive) return primitive
    }
    if (await checker.isArrayType(type)) {
      const [item] = type.isTypeReference() ? await checker.getTypeArguments(type) : []
      return { type: 'array', items: item ? await render(item) : ANYTHING }
    }
    return await renderObject(type)
  }

  const renderUnion = async (types: readonly Type[]): Promise<Schema> => {
    const schemas: Schema[] = []
    for (const type of types) {
      if ((type.flags & TypeFlags.Undefined) === 0) schemas.push(await render(type))
    }
    return merge(schemas)
  }

  const renderObject = async (type: Type): Promise<Schema> => {
    const properties: Record<string, Schema> = {}
    const required: string[] = []
    for (const property of inOrder(await checker.getPropertiesOfType(type))) {
      properties[property.name] = await renderProperty(property)
      if ((property.flags & SymbolFlags.Optional) === 0) required.push(property.name)
    }
    const [index] = await checker.getIndexInfosOfType(type)
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(index && { additionalProperties: await render(index.valueType) }),
    }
  }

  const renderProperty = async (property: Named): Promise<Schema> => {
    const type = await checker.getTypeOfSymbol(property)
    const schema = type ? await render(type) : ANYTHING
    const description = await property.getDocumentationComment(checker)
    return description === '' ? schema : { description, ...schema }
  }

  return {
    async document(command: Named): Promise<Schema> {
      const schema = await renderProperty(command)
      return {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: titleOf(command.name),
        ...schema,
      }
    },
  }
}

/** In the order of their declarations: the compiler's own order differs between runs for what a type inherits. */
const inOrder = (properties: readonly Named[]): readonly Named[] =>
  properties.toSorted(({ declarations: [one] }, { declarations: [other] }) => {
    if (one?.path !== other?.path) return (one?.path ?? '') < (other?.path ?? '') ? -1 : 1
    return (one?.index ?? 0) - (other?.index ?? 0)
  })

/** What is no object, list or union; undefined for those. */
function renderSimple(type: Type): Schema | undefined {
  if (type.isStringLiteralType() || type.isNumberLiteralType() || type.isBooleanLiteralType()) {
    return { const: type.value }
  }
  const { flags } = type
  if (flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return { type: 'string' }
  if (flags & TypeFlags.Number) return { type: 'number' }
  if (flags & TypeFlags.Boolean) return { type: 'boolean' }
  if (flags & TypeFlags.Null) return { type: 'null' }
  return flags & (TypeFlags.Any | TypeFlags.Unknown) ? ANYTHING : undefined
}

/** Constants become a list, plain types one; the rest is any of them. */
function merge(schemas: readonly Schema[]): Schema {
  const constants = schemas.filter((schema) => 'const' in schema).map(({ const: value }) => value)
  const isBoolean = constants.includes(true) && constants.includes(false)
  const words = isBoolean ? constants.filter((value) => typeof value !== 'boolean') : constants
  const plain = [
    ...new Set([
      ...schemas.filter(isPlain).map(({ type }) => type as string),
      ...(isBoolean ? ['boolean'] : []),
    ]),
  ].toSorted(nullLast)
  const rest = schemas.filter((schema) => !('const' in schema) && !isPlain(schema))
  if (rest.length === 0 && words.length > 0 && plain.every((type) => type === 'null')) {
    const all = [...words.toSorted(), ...(plain.length > 0 ? [null] : [])]
    return all.length === 1 ? { const: all[0] } : { enum: all }
  }
  const types = plain.length === 0 ? [] : [{ type: plain.length === 1 ? plain[0] : plain }]
  const [only] = rest
  if (only && rest.length === 1 && words.length === 0 && typeof only['type'] === 'string') {
    return { ...only, type: plain.length === 0 ? only['type'] : [only['type'], ...plain] }
  }
  const options = [...(words.length > 0 ? [{ enum: words.toSorted() }] : []), ...types, ...rest]
  return options.length === 1 ? (options[0] ?? ANYTHING) : { anyOf: options }
}

const nullLast = (a: string, b: string): number =>
  Number(a === 'null') - Number(b === 'null') || (a < b ? -1 : 1)

const isPlain = (schema: Schema): boolean =>
  Object.keys(schema).length === 1 && typeof schema['type'] === 'string'
