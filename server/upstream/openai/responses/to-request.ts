/** Ours → theirs: the client's own text; changed is only what the gateway decides (contract §7, docs/providers.md). */
import type { JsonObject } from '#domain/chat.ts'
import { cutElements } from '#domain/json-text.ts'
import type { ModelCard } from '#domain/model-card.ts'
import { SEALED_REASONING } from '#domain/thought.ts'
import { OWN_FIELDS } from '#domain/work.ts'
import { isObject, readList, readObject } from '../../read-json.ts'
import { spliceJson } from '../../splice-json.ts'
import type { Asked } from '../to-request.ts'

/** What a refused request is sent once more without. */
export type Omission = 'reasoning' | 'include' | 'summary'

const ENCRYPTED = 'reasoning.encrypted_content'

/** The body to send, in pieces. */
export function toResponsesRequest(
  asked: Asked,
  omission: Omission | null = null,
): readonly string[] {
  const { body } = asked.request
  const own = withoutTools(asked.request)
  const text = withoutItems(own, body, omission === 'reasoning' ? isReasoning : isSealed)
  const set: Record<string, unknown> = { model: asked.hop.card.upstreamName }
  // No provider keeps an answer: one account serves many keys, and whoever knows an id could go on with another's.
  if (body['store'] !== false) set['store'] = false
  if (omission !== 'include' && needsEncrypted(asked)) {
    set['include'] = [...readList(body['include']), ENCRYPTED]
  }
  if (omission === 'summary') set['reasoning'] = withoutSummary(body)
  return spliceJson(text, { ...set, ...toBound(asked) }, cutsOf(asked))
}

/** The client's text without the tools that are cut. */
function withoutTools(request: Asked['request']): string {
  const text = request.source?.text
  if (text === undefined || text === null) return JSON.stringify(request.body)
  const cut = request.kind === 'generate' ? request.cutTools : undefined
  return cut === undefined || cut.size === 0
    ? text
    : cutElements(text, 'tools', (place) => cut.has(place))
}

/** Without the answer's encrypted reasoning a client could not replay it, because nothing is stored. */
export const needsEncrypted = ({ request: { body }, hop: { card } }: Asked): boolean =>
  (reasons(card) || asksToReason(body)) && !readList(body['include']).includes(ENCRYPTED)

/** OpenAI's own names, for cards that say nothing of parameters. */
const REASONING_NAME = /(?:^|\/)(?:o[1-9]|gpt-[5-9]|codex)(?!.*-chat)/

/** Also where the card does not say so. */
export const reasons = ({ supportedParameters, upstreamName }: ModelCard): boolean =>
  supportedParameters.includes('reasoning_effort') ||
  supportedParameters.includes('reasoning') ||
  REASONING_NAME.test(upstreamName)

function asksToReason({ reasoning }: JsonObject): boolean {
  const { effort, summary } = readObject(reasoning)
  return typeof effort === 'string' || typeof summary === 'string'
}

/** Whether a summary of the reasoning is asked for. */
export const hasSummary = ({ reasoning }: JsonObject): boolean =>
  readObject(reasoning)['summary'] !== undefined

function withoutSummary({ reasoning }: JsonObject): JsonObject {
  const { summary: _, ...others } = readObject(reasoning)
  return others
}

/** Nothing where the client's own bound stands. */
const toBound = ({ request, maxOutputTokens: most }: Asked): JsonObject =>
  most === null || most === request.maxOutputTokens ? {} : { max_output_tokens: most }

/** A bound goes where the provider takes none. */
const cutsOf = ({ hop, maxOutputTokens }: Asked): readonly string[] =>
  maxOutputTokens === null && hop.provider.outputBound === 'none'
    ? [...OWN_FIELDS, 'max_output_tokens']
    : OWN_FIELDS

/** Whether there are reasoning items to leave out. */
export const hasReasoning = ({ input }: JsonObject): boolean =>
  readList(input).some((item) => isReasoning(item) && !isSealed(item))

function withoutItems(
  text: string,
  { input }: JsonObject,
  isCut: (item: unknown) => boolean,
): string {
  const items = readList(input)
  return items.some(isCut) ? cutElements(text, 'input', (index) => isCut(items[index])) : text
}

const isReasoning = (item: unknown): boolean => isObject(item) && item['type'] === 'reasoning'

/** What a model of another wire thought, which the gateway sealed: this one cannot read it. */
function isSealed(item: unknown): boolean {
  if (!(isObject(item) && item['type'] === 'reasoning')) return false
  const { id } = item
  return typeof id === 'string' && id.startsWith(SEALED_REASONING)
}
