/** The tables of docs/api.md, drawn from the document that `/openapi.json` serves. */
import { fieldsOf, type Side } from './fields.ts'
import { linkTo, type Node, row, table } from './markdown.ts'

const METHODS = ['get', 'post', 'patch', 'delete'] as const

interface Operation {
  readonly name: string
  readonly isRoot: boolean
  readonly node: Node
}

const operationsOf = (document: Node): readonly Operation[] =>
  Object.entries<Node>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      name: `${method.toUpperCase()} ${item.servers ? '' : '/v1'}${path}`,
      isRoot: item.servers !== undefined,
      node: item[method],
    })),
  )

const refName = ({ $ref }: Node): string => $ref.split('/').at(-1)

/** Method, path, what it does, what is sent and what comes back. */
function pathsTable(document: Node): string {
  const rows = operationsOf(document).map(({ name, node }) => {
    const sent = node.requestBody?.content['application/json'].schema
    const [status = '', answer] =
      Object.entries<Node>(node.responses).find(([code]) => Number(code) < 300) ?? []
    const kinds = Object.values<Node>(answer?.content ?? {}).flatMap(
      ({ schema }) => schema.oneOf ?? schema.anyOf ?? [schema],
    )
    const back = kinds.map((kind: Node) => (kind.$ref ? linkTo(refName(kind)) : 'OpenAPI 3.1'))
    return row(
      `\`${name}\``,
      [node.summary, node.description].filter(Boolean).join('. '),
      sent ? linkTo(refName(sent)) : '',
      [`${status}:`, back.join(' or ')].join(' '),
    )
  })
  return table(['path', '', 'send', 'get'], rows)
}

/** Where a parameter or header is used, in short. */
function usersOf(names: readonly string[], all: readonly string[]): string {
  return names.length === all.length ? 'all' : names.map((name) => `\`${name}\``).join(', ')
}

/** Query parameters and request headers. */
function parametersTable(document: Node): string {
  const operations = operationsOf(document)
  const all = operations.map(({ name }) => name)
  const rows = Object.entries<Node>(document.components.parameters)
    .filter(([, parameter]) => parameter.in !== 'path')
    .map(([id, parameter]) => {
      const users = operations.filter(({ node }) =>
        (node.parameters ?? []).some((one: Node) => refName(one) === id),
      )
      const { schema } = parameter
      const fits = schema.pattern ? ` Fits \`${schema.pattern}\`.` : ''
      const unless = schema.default === undefined ? '' : ` Unless said: \`${schema.default}\`.`
      return row(
        `\`${parameter.name}\``,
        parameter.in,
        usersOf(
          users.map(({ name }) => name),
          all,
        ),
        `${parameter.description}.${fits}${unless}`,
      )
    })
  return table(['name', 'in', 'of', ''], rows)
}

/** Every response header. */
function headersTable(document: Node): string {
  const rows = Object.entries<Node>(document.components.headers).map(([name, header]) =>
    row(`\`${name}\``, header.description),
  )
  return table(['header', ''], rows)
}

/** Longer lists are shortened. */
const MAX_USERS = 4

interface Code {
  readonly status: string
  readonly type: string
  readonly meaning: string
  readonly users: string[]
}

/** Every code with its status, its class, who answers with it, and what it means. */
function codesTable(document: Node): string {
  const codes = new Map<string, Code>()
  const note = (status: string, response: Node, user: string): void => {
    const { properties } = response.content?.['application/json']?.schema.allOf?.[1] ?? {}
    if (!properties) return
    const { type: types, code, details } = properties.error.properties
    const type = types.enum.join(' ')
    const listed = (code ?? details.properties.code).enum
    const told = response.description.matchAll(/`(\w+)`: (.+?)\.?(?:\n\n|$)/g)
    for (const [, name = '', meaning = ''] of told) {
      if (!listed.includes(name)) continue
      const known: Code = codes.get(name) ?? { status, type, meaning, users: [] }
      known.users.push(user)
      codes.set(name, known)
    }
  }
  for (const { name, node } of operationsOf(document)) {
    for (const [status, response] of Object.entries<Node>(node.responses)) {
      note(status, response, `\`${name}\``)
    }
  }
  note('404', document.components.responses.RouteNotFound, 'any other address')
  note('405', document.components.responses.MethodNotAllowed, 'any other method')
  note('426', document.components.responses.WebSocketNotSupported, '`GET /v1/responses`')
  const all = operationsOf(document).filter(({ isRoot }) => !isRoot).length
  const rows = [...codes]
    .toSorted(([, one], [, other]) => Number(one.status) - Number(other.status))
    .map(([code, { status, type, meaning, users }]) => {
      const several = users.length >= all ? 'all under `/v1`' : 'several'
      const who = users.length > MAX_USERS ? several : users.join(', ')
      return row(status, `\`${code}\``, `\`${type}\``, who, meaning)
    })
  return table(['status', 'code', 'type', 'of', ''], rows)
}

const TABLES: Readonly<Record<string, (document: Node, words: readonly string[]) => string>> = {
  paths: pathsTable,
  parameters: parametersTable,
  headers: headersTable,
  codes: codesTable,
  fields: (document, [name = '', side = '', , base]) =>
    fieldsOf(document.components.schemas, name, side as Side, base),
}

/**
 * The page with every table drawn anew between its marks, `<!-- fields ChatRequest asked -->` and `<!-- end -->`.
 * @throws for a mark that nobody knows
 */
export function fillTables(page: string, document: Node): string {
  return page.replaceAll(
    /^<!-- (\w+)( [\w ]+)? -->\n.*?^<!-- end -->$/gms,
    (_, kind: string, words: string | undefined) => {
      const draw = TABLES[kind]
      if (!draw) throw new Error(`no table is called ${kind}`)
      const body = draw(document, (words ?? '').trim().split(' '))
      return `<!-- ${kind}${words ?? ''} -->\n\n${body}\n\n<!-- end -->`
    },
  )
}
