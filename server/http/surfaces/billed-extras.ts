/**
 * Fields for which a vendor bills more than the model's price: a faster tier, searches, hosted tools, longer caching. What a card
 * can have a price for is collected, and refused where the model's has none (`#domain/extras.ts`); all else is refused here, and
 * so are the fields that name what is kept in the operator's account.
 */

import type { JsonObject } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import {
  type Extra,
  type MODIFIER_FIELDS,
  type Need,
  USUAL_MOST_CALLS,
  unpricedExtra,
} from '#domain/extras.ts'
import { isObject } from '#domain/json.ts'
import { namesKept, refuseKeptTool } from './kept-objects.ts'
import type { Draft } from './read-common.ts'

/** Appends what a field asks for. @throws unsupported_parameter for what no card has a price for */
type Finder = (value: unknown, path: string, into: Extra[]) => void

const MAX_VALUE_CHARS = 64

/** Never priced, unless it has one of these values. */
const except =
  (what: string, ...free: readonly unknown[]): Finder =>
  (value, param) => {
    if (!free.includes(value)) throw refused(param, what)
  }

/** Never passed, whatever a card says: `instead` is what the client does without it. */
const kept =
  (instead?: string): Finder =>
  (_, param) => {
    throw namesKept(param, instead)
  }

/** A factor of the whole price, unless it has one of these values. */
const modifier =
  (field: (typeof MODIFIER_FIELDS)[number], what: string, ...free: readonly unknown[]): Finder =>
  (value, param, into) => {
    if (free.includes(value)) return
    if (typeof value !== 'string' || value.length > MAX_VALUE_CHARS) throw refused(param, what)
    into.push({ param, what, need: { kind: 'modifier', field, value } })
  }

/** Billed by any of an object's fields. */
const fields = (finders: Readonly<Record<string, Finder>>): Finder => {
  const byName = new Map(Object.entries(finders))
  return (value, path, into) => findIn(value, byName, `${path}.`, into)
}

/** Billed by any of a list's entries. */
const entries =
  (find: Finder): Finder =>
  (value, path, into) => {
    if (!Array.isArray(value)) return
    for (const [index, entry] of value.entries()) find(entry, `${path}[${index}]`, into)
  }

const SEARCH = 'a web search is billed by the call or by the source'
const HOSTED = 'a tool that the vendor runs is billed by the call or by the hour'

/** Functions that the client carries out itself are text; every other tool is run, and billed, by the vendor. */
export const findTool: Finder = (tool, path, into) => {
  if (!isObject(tool)) return
  const { type, function: declared, input_schema: schema } = tool
  const isDeclared = isObject(declared) || isObject(schema)
  if (isSet(type) ? isClientRun(type) : isDeclared) {
    noteLongCaching(tool, path, into)
    noteLongCaching(declared, `${path}.function`, into)
    return
  }
  refuseKeptTool(tool, path)
  noteTool(into, toHostedTool(tool, path, tool['max_uses']))
  noteLongCaching(tool, path, into)
}

/** A tool that the vendor runs, `mostCalls` times if that is a number. @throws unsupported_parameter for one that has no name */
export function toHostedTool({ type }: JsonObject, path: string, mostCalls: unknown): Extra {
  const param = isSet(type) ? `${path}.type` : path
  if (typeof type !== 'string' || type.length > MAX_VALUE_CHARS) throw refused(param, HOSTED)
  // A date is the version of the tool and not its name.
  const name = type.replace(/_20\d{2}_?\d{2}_?\d{2}$/, '')
  return { param, what: HOSTED, need: calls(name, mostCalls) }
}

/** Types of tools that the client carries out, in any dialect. */
export const isClientRun = (type: unknown): boolean =>
  CLIENT_RUN.has(type) || (typeof type === 'string' && CLIENT_RUN_DATED.test(type))
const CLIENT_RUN: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'local_shell',
  'apply_patch',
])
const CLIENT_RUN_DATED =
  /^(?:bash|text_editor|computer|memory|computer_toolset|browser_toolset)_20\d{6}$/

const calls = (tool: string, most: unknown): Need => ({
  kind: 'server-tool',
  tool,
  mostCalls: Number.isInteger(most) && Number(most) > 0 ? Number(most) : USUAL_MOST_CALLS,
})

/** Of one tool that is named twice, each may be called as often as it says. */
const noteTool = (into: Extra[], extra: Extra): void => {
  if (into.length >= MAX_EXTRAS) throw refused(extra.param, HOSTED)
  into.push(extra)
}
const MAX_EXTRAS = 64

/** Some vendors search more than once for an answer. A larger context of a search, or a deeper search, is dearer than others. */
const findSearch: Finder = (value, param, into) => {
  if (isObject(value)) findIn(value, SEARCH_OPTIONS, `${param}.`, into)
  noteTool(into, { param, what: SEARCH, need: calls('web_search', undefined) })
}

const SEARCH_OPTIONS: ReadonlyMap<string, Finder> = new Map([
  ['search_context_size', except('a larger context of a search has its own price', 'low')],
  ['search_type', except('a deeper search has its own price', 'fast')],
])

/** OpenRouter's plugins: those that only repair the answer, or read a file by the model itself or for free, cost nothing. */
const findPlugin: Finder = (plugin, param) => {
  const { enabled, id, pdf } = isObject(plugin) ? plugin : NOTHING
  const engine = isObject(pdf) ? pdf['engine'] : undefined
  const isFree =
    enabled === false ||
    id === 'response-healing' ||
    (id === 'file-parser' && FREE_ENGINES.has(engine))
  if (!isFree) throw refused(param, 'a plugin is billed by the search or by the page')
}
const FREE_ENGINES: ReadonlySet<unknown> = new Set(['native', 'cloudflare-ai', 'pdf-text'])
const NOTHING: JsonObject = {}

const LONG_CACHING = 'caching for longer than five minutes has its own price'

/** One mark asks for as much as many. */
const findCacheMark: Finder = (mark, path, into) => {
  const ttl = isObject(mark) ? mark['ttl'] : undefined
  if (!isSet(ttl) || ttl === '5m') return
  const param = `${path}.ttl`
  if (ttl !== '1h') throw refused(param, LONG_CACHING)
  if (into.some(({ need }) => need.kind === 'cache-write-1h')) return
  into.push({ param, what: LONG_CACHING, need: { kind: 'cache-write-1h' } })
}

const OTHER_MODEL = 'another model has another price; name other models in "models"'
const LATER = 'no answer is stored here to be fetched later'

const HISTORY = 'no answer is stored here, so send the whole conversation'

const EXTRAS: ReadonlyMap<string, Finder> = new Map([
  // OpenAI; OpenAI and Anthropic; Google, beneath OpenAI's words too; Alibaba and proxies.
  ['previous_response_id', kept(HISTORY)],
  ['conversation', kept(HISTORY)],
  [
    'prompt',
    (value, path, into) => {
      if (isObject(value)) kept('send its text')(value, path, into)
    },
  ],
  ['container', kept('leave it out')],
  ['cached_content', kept()],
  ['cachedContent', kept()],
  ['google', fields({ cached_content: kept(), cachedContent: kept() })],
  ['file_ids', kept()],
  ['vector_store_ids', kept()],
  // Anthropic and proxies; OpenRouter; Groq; Together.
  ['fallbacks', except(OTHER_MODEL)],
  ['preset', except("it names settings of the operator's account, other models among them")],
  ['compound_custom', except(OTHER_MODEL)],
  ['safety_model', except(OTHER_MODEL)],
  ['fallback_credit_token', except('it changes the price of the answer')],
  [
    'billing_policy',
    fields({ bill_to: except("it bills another than the operator's account", 'self') }),
  ],
  // OpenAI; xAI.
  ['background', except(LATER, false)],
  ['deferred', except(LATER, false)],
  ['batch', except(LATER, false)],
  ['prompt_cache_options', fields({ ttl: except('a longer cache has its own price', '30m') })],
  // A number only says who is served first.
  [
    'priority',
    (value, path, into) => {
      if (typeof value !== 'number')
        except('being served first has its own price')(value, path, into)
    },
  ],
  ['audio', except('sound in an answer has its own price')],
  [
    'modalities',
    (value, path) => {
      if (Array.isArray(value) && value.includes('audio')) {
        throw refused(path, 'sound in an answer has its own price')
      }
    },
  ],
  // `auto` is what the vendor uses without the field.
  [
    'service_tier',
    modifier(
      'service_tier',
      'another service tier has its own price',
      'auto',
      'default',
      'standard_only',
    ),
  ],
  ['speed', modifier('speed', 'another speed has its own price', 'standard')],
  [
    'inference_geo',
    modifier('inference_geo', 'a region of inference may have its own price', 'global'),
  ],
  ['tools', entries(findTool)],
  ['plugins', entries(findPlugin)],
  ['cache_control', findCacheMark],
  // OpenAI, Perplexity; xAI; Alibaba; Baidu; Venice.
  ['web_search_options', findSearch],
  [
    'search_parameters',
    (value, path, into) => {
      if (!isObject(value) || value['mode'] !== 'off') except(SEARCH)(value, path, into)
    },
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
  // Not valid together with the bound of the output that is held and sent.
  ['prediction', except('rejected tokens of a prediction are billed beside the answer')],
  [
    'image_config',
    fields({
      font_inputs: except('a font is billed by the piece'),
      super_resolution_references: except('a reference image is billed by the piece'),
    }),
  ],
  // Some proxies merge it into the body: where one does, nothing tells.
  [
    'extra_body',
    (value, path) => {
      const found: Extra[] = []
      findIn(value, EXTRAS, `${path}.`, found)
      const [first] = found
      if (first) throw refused(first.param, first.what)
    },
  ],
])

function findIn(
  value: unknown,
  finders: ReadonlyMap<string, Finder>,
  prefix: string,
  into: Extra[],
): void {
  if (!isObject(value)) return
  for (const name in value) {
    const find = finders.get(name)
    if (find && isSet(value[name])) find(value[name], prefix + name, into)
  }
}

/**
 * Appends what the fields of a body ask for; its messages are read on their own.
 * @throws unsupported_parameter for what no card can have a price for
 */
export const noteExtras = (body: JsonObject, into: Extra[]): void => findIn(body, EXTRAS, '', into)

/** Appends the mark of a message, part or tool for caching that costs extra. @throws unsupported_parameter */
export function noteLongCaching(holder: unknown, path: string, into: Extra[]): void {
  if (isObject(holder) && isSet(holder['cache_control'])) {
    findCacheMark(holder['cache_control'], `${path}.cache_control`, into)
  }
}

/** What the vendor's tools find becomes part of the prompt, whose size nobody knows before. */
export function setExtras(request: Draft, extras: readonly Extra[]): void {
  request.extras = extras
  if (extras.some(({ need }) => need.kind === 'server-tool')) request.isUnbounded = true
}

/** Of a tool that no card can have a price for. */
export const refuseHostedTool = (param: string, type: unknown): GatewayError =>
  refused(param, typeof type === 'string' ? `${type.slice(0, MAX_VALUE_CHARS)}: ${HOSTED}` : HOSTED)

const refused = (param: string, what: string) =>
  unpricedExtra({ param, what }, 'no model here has a price for that')

const isSet = (value: unknown): boolean => value !== null && value !== undefined
