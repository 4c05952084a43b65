/**
 * Fields for which a vendor bills more than the model's price: a faster tier, searches, hosted tools, longer caching. No card has
 * a price for them, so nothing could be held or charged for them, and they are refused (contract §8).
 */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'

interface Extra {
  /** Path to the field. */
  readonly param: string
  /** What the vendor bills, as a sentence begins. */
  readonly what: string
}

type Finder = (value: unknown, path: string) => Extra | null

/** Billed unless it has one of these values. */
const except =
  (what: string, ...free: readonly unknown[]): Finder =>
  (value, param) =>
    free.includes(value) ? null : { param, what }

/** Billed by any of an object's fields. */
const fields =
  (finders: Readonly<Record<string, Finder>>): Finder =>
  (value, path) =>
    findIn(value, new Map(Object.entries(finders)), `${path}.`)

/** Billed by any of a list's entries. */
const entries =
  (find: Finder): Finder =>
  (value, path) => {
    if (!Array.isArray(value)) return null
    for (const [index, entry] of value.entries()) {
      const found = find(entry, `${path}[${index}]`)
      if (found) return found
    }
    return null
  }

const SEARCH = 'a web search is billed by the call or by the source'

/** Functions that the client carries out itself are text; every other tool is run, and billed, by the vendor. */
const findTool: Finder = (tool, path) => {
  if (!isObject(tool)) return null
  const { type, function: declared } = tool
  const isOwn = type === 'function' || type === 'custom' || (!isSet(type) && isObject(declared))
  if (!isOwn) {
    const param = isSet(type) ? `${path}.type` : path
    return { param, what: 'a tool that the vendor runs is billed by the call or by the hour' }
  }
  return findLongCaching(tool, path) ?? findLongCaching(declared, `${path}.function`)
}

/** OpenRouter's plugins: those that only repair the answer, or read a file by the model itself or for free, cost nothing. */
const findPlugin: Finder = (plugin, param) => {
  const { enabled, id, pdf } = isObject(plugin) ? plugin : NOTHING
  const engine = isObject(pdf) ? pdf['engine'] : undefined
  const isFree =
    enabled === false ||
    id === 'response-healing' ||
    (id === 'file-parser' && FREE_ENGINES.has(engine))
  return isFree ? null : { param, what: 'a plugin is billed by the search or by the page' }
}
const FREE_ENGINES: ReadonlySet<unknown> = new Set(['native', 'cloudflare-ai', 'pdf-text'])
const NOTHING: JsonObject = {}

const findCacheMark: Finder = (mark, path) => {
  const ttl = isObject(mark) ? mark['ttl'] : undefined
  return !isSet(ttl) || ttl === '5m'
    ? null
    : { param: `${path}.ttl`, what: 'caching for longer than five minutes has its own price' }
}

const EXTRAS: ReadonlyMap<string, Finder> = new Map([
  // `auto` is what the vendor uses without the field.
  [
    'service_tier',
    except('another service tier has its own price', 'auto', 'default', 'standard_only'),
  ],
  ['speed', except('another speed has its own price', 'standard')],
  ['inference_geo', except('a region of inference may have its own price', 'global')],
  ['tools', entries(findTool)],
  ['plugins', entries(findPlugin)],
  ['cache_control', findCacheMark],
  // OpenAI, Perplexity; xAI; Alibaba; Baidu; Venice.
  ['web_search_options', except(SEARCH)],
  [
    'search_parameters',
    (value, path) =>
      isObject(value) && value['mode'] === 'off' ? null : except(SEARCH)(value, path),
  ],
  ['enable_search', except(SEARCH, false)],
  ['web_search', except(SEARCH, false)],
  [
    'venice_parameters',
    fields({
      enable_web_search: except(SEARCH, 'off', false),
      enable_web_scraping: except(SEARCH, false),
      enable_x_search: except(SEARCH, false),
    }),
  ],
  // Azure: documents that it finds become part of the prompt, which nothing here can bound.
  ['data_sources', except('documents that the vendor adds to the prompt are billed as prompt')],
  ['container', except("a container for the vendor's tools is billed by the hour")],
  // Not valid together with the bound of the output that is held and sent.
  ['prediction', except('rejected tokens of a prediction are billed beside the answer')],
  [
    'image_config',
    fields({
      font_inputs: except('a font is billed by the piece'),
      super_resolution_references: except('a reference image is billed by the piece'),
    }),
  ],
  // Some proxies merge it into the body.
  ['extra_body', (value, path) => findIn(value, EXTRAS, `${path}.`)],
])

function findIn(
  value: unknown,
  finders: ReadonlyMap<string, Finder>,
  prefix: string,
): Extra | null {
  if (!isObject(value)) return null
  for (const name in value) {
    const find = finders.get(name)
    const found = find && isSet(value[name]) ? find(value[name], prefix + name) : null
    if (found) return found
  }
  return null
}

/** @throws unsupported_parameter for a field of the body that costs extra; messages are checked as they are read */
export function rejectExtras(body: JsonObject): void {
  const found = findIn(body, EXTRAS, '')
  if (found) throw refused(found)
}

/** @throws unsupported_parameter where a message or part is marked for caching that costs extra */
export function rejectLongCaching(holder: JsonObject, path: string): void {
  const found = findLongCaching(holder, path)
  if (found) throw refused(found)
}

const findLongCaching: Finder = (holder, path) =>
  isObject(holder) && isSet(holder['cache_control'])
    ? findCacheMark(holder['cache_control'], `${path}.cache_control`)
    : null

const refused = ({ param, what }: Extra): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    `${param}: ${what}, and no model here has a price for that; leave it out`,
    { param },
  )

const isSet = (value: unknown): boolean => value !== null && value !== undefined

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
