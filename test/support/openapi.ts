/** Holds answers to a description of the interface: whatever an answer has that the document does not know is a complaint. */
import Ajv2020 from 'ajv/dist/2020.js'

/** As JSON; each test knows where it looks. */
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into, not built
export type OpenApi = any

/** An answer whose body has been read. */
export interface Heard {
  readonly status: number
  readonly headers: Pick<Headers, 'get' | 'has' | 'keys'>
  readonly text: string
}

/** Reads an answer to its end. */
export const hear = async (
  answer: Pick<Heard, 'status' | 'headers'> & { text(): Promise<string> },
): Promise<Heard> => {
  const { status, headers } = answer
  return { status, headers, text: await answer.text() }
}

export interface Holder {
  readonly document: OpenApi
  /** @throws with every complaint */
  hold(method: string, path: string, answer: Heard): void
  /** Whether a body fits a schema of the document, as a client would judge it. */
  fits(schema: string, body: unknown): boolean
  /** What answers have shown so far. */
  readonly seen: Readonly<Record<'answers' | 'headers', Set<string>>>
}

/** Those of the transport, and `Content-Type`, which the kinds of content name. */
const OF_THE_TRANSPORT = [
  'content-type',
  'content-length',
  'transfer-encoding',
  'date',
  'connection',
]

/** Requests may hold more than is told; an answer may not, unless its schema says so. */
const REQUESTS = [
  'ChatRequest',
  'EmbeddingsRequest',
  'RerankRequest',
  'Messages',
  'Message',
  'ContentPart',
  'KeyIssue',
  'KeyAmendment',
]

/**
 * Fields of a provider pass through where a schema is open; with `passing` only those of these names do, so that no field of
 * our own hides among them.
 */
export function holdTo(document: OpenApi, passing: readonly string[] | null = null): Holder {
  const ajv = newAjv()
  ajv.addSchema(closed(document, passing), 'openapi')
  const judge = (pointer: string) => {
    const validate = ajv.getSchema(`openapi#${pointer}`)
    if (!validate) throw new Error(`the document has no ${pointer}`)
    return (body: unknown): string =>
      validate(body) ? '' : `${pointer}: ${ajv.errorsText(validate.errors, { separator: '; ' })}`
  }
  const seen = { answers: new Set<string>(), headers: new Set<string>() }
  const operationAt = finder(document)

  return {
    document,
    seen,
    fits: (schema, body) => judge(`/components/schemas/${schema}`)(body) === '',
    hold(method, path, answer) {
      const where = operationAt(method, path)
      const at = pointerOf(document, where, method, answer.status)
      if (at === undefined)
        throw new Error(`${method} ${path} ${answer.status}: not in the document`)
      const told = resolve(document, at)
      seen.answers.add(`${where ?? method} ${answer.status}`)
      for (const name of answer.headers.keys()) seen.headers.add(name)
      const { text } = answer
      const complaints = [
        ...complaintsOfHeaders(told, document, answer.headers),
        ...complaintsOfBody(told, at, answer, judge),
      ]
      if (complaints.length === 0) return
      throw new Error(
        `${method} ${path} ${answer.status}\n${complaints.join('\n')}\n${text.slice(0, 2_000)}`,
      )
    },
  }
}

const newAjv = () =>
  new Ajv2020({
    strict: false,
    allErrors: true,
    formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/ },
  })

const judgeOfHeaders = newAjv()

/** A copy whose answers may hold nothing but what they name. */
function closed(document: OpenApi, passing: readonly string[] | null): OpenApi {
  const copy = structuredClone(document)
  for (const [name, schema] of Object.entries(copy.components.schemas)) {
    if (!REQUESTS.includes(name)) close(schema, passing)
  }
  return copy
}

function close(schema: OpenApi, passing: readonly string[] | null): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const part of Object.values(schema)) close(part, passing)
  if (schema.type !== 'object' || Object.keys(schema.properties ?? {}).length === 0) return
  if (schema.additionalProperties === undefined) schema.additionalProperties = false
  else if (passing !== null) {
    for (const name of passing) schema.properties[name] ??= true
    schema.additionalProperties = false
  }
}

/** Finds the operation of an address, `GET /key`, or undefined where the document knows none. */
function finder(document: OpenApi) {
  const paths = Object.entries<OpenApi>(document.paths).flatMap(([path, item]) =>
    (item.servers ?? document.servers).map(({ url }: OpenApi) => {
      const pattern = `${url.replace(/\/$/, '')}${path}`.replace(/[.]/g, '\\.')
      const any = pattern.replace('{model}', '.+').replace(/\{\w+\}/g, '[^/]+')
      return { path, item, address: new RegExp(`^${any}$`) }
    }),
  )
  return (method: string, address: string): string | undefined => {
    const bare = address.replace(/\?.*$/, '').replaceAll('%2F', '/')
    const found = paths.find(
      (one) => one.address.test(bare) && one.item[method.toLowerCase()] !== undefined,
    )
    return found && `${method} ${found.path}`
  }
}

/** Where the document tells of an answer. */
function pointerOf(
  document: OpenApi,
  operation: string | undefined,
  method: string,
  status: number,
): string | undefined {
  if (operation === undefined) {
    const name = { 404: 'RouteNotFound', 405: 'MethodNotAllowed', 426: 'WebSocketNotSupported' }[
      status
    ]
    const elsewhere = method === 'OPTIONS' && status === 204 ? 'Preflight' : name
    return elsewhere && `/components/responses/${elsewhere}`
  }
  const [, path = ''] = operation.split(' ')
  const known = document.paths[path][method.toLowerCase()].responses[status] !== undefined
  const escaped = path.replaceAll('/', '~1')
  return known ? `/paths/${escaped}/${method.toLowerCase()}/responses/${status}` : undefined
}

/** What stands at a pointer, references followed. */
export function resolve(document: OpenApi, pointer: string): OpenApi {
  let found = document
  for (const step of pointer.split('/').slice(1)) {
    found = found[step.replaceAll('~1', '/').replaceAll('~0', '~')]
    if (typeof found?.$ref === 'string') found = resolve(document, found.$ref.slice(1))
  }
  return found
}

function complaintsOfHeaders(
  told: OpenApi,
  document: OpenApi,
  headers: Heard['headers'],
): string[] {
  const named = Object.entries<OpenApi>(told.headers).map(
    ([name, { $ref }]) => [name, resolve(document, $ref.slice(1))] as const,
  )
  const names = named.map(([name]) => name.toLowerCase())
  const strange = [...headers.keys()].filter(
    (name) => !names.includes(name) && !OF_THE_TRANSPORT.includes(name),
  )
  const missing = named.filter(([name, { required }]) => required && !headers.has(name))
  const odd = named.filter(([name, { schema }]) => {
    const value = headers.get(name)
    return (
      value !== null &&
      !judgeOfHeaders.validate(schema, schema.type === 'integer' ? Number(value) : value)
    )
  })
  return [
    ...strange.map((name) => `a header that is not told: ${name}`),
    ...missing.map(([name]) => `a header that is told and not there: ${name}`),
    ...odd.map(([name]) => `not what is told of it: ${name}: ${headers.get(name)}`),
  ]
}

function complaintsOfBody(
  told: OpenApi,
  at: string,
  { headers, text }: Heard,
  judge: (pointer: string) => (body: unknown) => string,
): string[] {
  if (told.content === undefined) return text === '' ? [] : ['a body that is not told']
  const type = headers.get('content-type')?.replace(/;.*$/, '') ?? ''
  if (told.content[type] === undefined) return [`a kind of content that is not told: ${type}`]
  const fit = judge(`${at}/content/${type.replace('/', '~1')}/schema`)
  const bodies = type === 'text/event-stream' ? dataIn(text) : [JSON.parse(text)]
  return [...new Set(bodies.map(fit))].filter((complaint) => complaint !== '')
}

/** The data of the events of a stream, of whatever surface. */
const dataIn = (text: string): readonly unknown[] =>
  [...text.matchAll(/^data: (.+)$/gm)]
    .map(([, data = '']) => data)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data))
