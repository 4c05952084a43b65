/** Writes the current state as a file, without unset fields and defaults. */
import type { Credential } from '#domain/provider.ts'
import type { GatewayFile } from './document.ts'
import type { Entity, Fields, Kind, Value } from './entity.ts'

/** Empty sections are left out. Credentials appear only as names of variables. */
export function writeDocument(entities: readonly Entity[]): GatewayFile {
  const of = (kind: Kind): readonly Entity[] => entities.filter((entity) => entity.kind === kind)
  const rate = of('rate')[0]
  const sections = {
    rates: rate && { usd_rub: rate.fields['rub_per_usd'] },
    notices: filled(of('notices')[0]),
    accounts: listed(of('account').map(({ name, fields }) => ({ name, ...fields }))),
    members: listed(of('member').map(({ fields }) => fields)),
    providers: listed(writeProviders(of('provider'))),
    models: listed(of('model').map(writeModel)),
    routes: listed(of('route').map(({ name, fields }) => ({ pattern: name, ...fields }))),
    aliases: listed(of('alias').map(({ name, fields }) => ({ name, ...fields }))),
    keys: listed(of('key').map(writeNamed)),
    clients: listed(of('client').map(writeNamed)),
    groups: listed(of('group').map(({ name, fields }) => ({ name, ...fields }))),
  }
  // The cast is safe by test: exporting and applying is tested to change nothing.
  return stated(sections as Fields) as GatewayFile
}

const listed = (entries: readonly Fields[]): readonly Value[] | null =>
  entries.length === 0 ? null : entries.map(stated)

/** Null where every field is as on the first day. */
function filled(entity: Entity | undefined): Fields | null {
  const fields = stated(entity?.fields ?? {})
  return Object.keys(fields).length === 0 ? null : fields
}

/** Without null and undefined fields. */
const stated = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  )

/** Each credential has a variable of its own, so that no key is sent to another provider's address. */
function writeProviders(providers: readonly Entity[]): readonly Fields[] {
  const taken = new Set<string>()
  return providers.map(({ name, fields }) => {
    const {
      type = null,
      base_url = null,
      output_bound = null,
      has_credential,
      credentials,
    } = fields
    const several = (credentials ?? []) as unknown as readonly Credential[]
    return {
      ...{ name, type, base_url, output_bound },
      from_env:
        has_credential === true && several.length === 0 ? free(variableFor(name), taken) : null,
      credentials:
        several.length === 0
          ? null
          : several.map((one) => ({
              ...one,
              from_env: free(variableFor(`${name}_${one.name}`), taken),
            })),
    }
  })
}

/** The usual name of a variable, or the next that is not taken. */
function free(usual: string, taken: Set<string>): string {
  let variable = usual
  for (let number = 2; taken.has(variable); number++) variable = `${usual}_${number}`
  taken.add(variable)
  return variable
}

/** The usual name, such as OPENAI_API_KEY; a variable cannot begin with a digit. */
const variableFor = (name: string): string =>
  `${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`.replace(/^(?=\d)/, '_')

function writeModel({ name: id, fields }: Entity): Fields {
  const prices = Object.entries(fields)
    .filter(([field]) => field.startsWith('price.'))
    .map(([field, value]) => [field.slice('price.'.length), withoutNulls(value)] as const)
  const price = stated(Object.fromEntries(prices))
  const rest = Object.entries(fields).filter(([field]) => !field.startsWith('price.'))
  return {
    id,
    ...Object.fromEntries(rest),
    price: Object.keys(price).length === 0 ? null : price,
  }
}

const withoutNulls = (value: Value): Value =>
  Array.isArray(value) ? value.map((one: Value) => stated(one as Fields)) : value

/** Keys and clients; those with a shared name get their id. */
function writeNamed({ name: title, id, fields }: Entity): Fields {
  const isShared = id !== null && (title === id || title.endsWith(`/${id}`))
  const { name = null, disabled, kind, ...rest } = fields
  return {
    name,
    id: isShared ? id : null,
    ...rest,
    kind: kind === undefined || kind === 'ordinary' ? null : kind,
    disabled: disabled === true ? true : null,
  }
}
