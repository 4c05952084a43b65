/** Ours → theirs: the client's own text; changed is only what the gateway decides (contract §7, docs/providers.md). */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import type { ModelCard } from '#domain/model-card.ts'
import { SEALED_REASONING } from '#domain/thought.ts'
import { type BodySource, OWN_FIELDS } from '#domain/work.ts'
import type { Pieces } from '../../reply.ts'
import { spliceJson } from '../../splice-json.ts'
import type { Asked } from '../to-request.ts'

/** What a refused request is sent once more without. */
export type Omission = 'reasoning' | 'include' | 'summary'

const ENCRYPTED = 'reasoning.encrypted_content'

/** The body to send. */
export function toResponsesRequest(
  asked: Asked,
  omission: Omission | null = null,
): string | Pieces {
  const { body, source } = asked.request
  const items = readList(body['input'])
  const isLeftOut = omission === 'reasoning' ? isReasoning : isSealed
  const set: Record<string, unknown> = { model: asked.hop.card.upstreamName }
  // No provider keeps an answer: one account serves many keys, and whoever knows an id could go on with another's.
  if (body['store'] !== false) set['store'] = false
  if (omission !== 'include' && needsEncrypted(asked)) {
    set['include'] = [...readList(body['include']), ENCRYPTED]
  }
  if (omission === 'summary') set['reasoning'] = withoutSummary(body)
  Object.assign(set, toBound(asked))
  const cut = cutsOf(asked)
  const isCutInto = items.some(isLeftOut)
  if (source === undefined) {
    const sent: Record<string, unknown> = { ...body, ...set }
    if (isCutInto) sent['input'] = items.filter((item) => !isLeftOut(item))
    for (const name of cut) delete sent[name]
    return JSON.stringify(sent)
  }
  const own = withoutTools(asked.request, source)
  const kept = isCutInto ? own.without('input', (index) => isLeftOut(items[index])) : own
  return spliceJson(kept, set, cut)
}

/** The client's body without the tools that are cut. */
function withoutTools(request: Asked['request'], source: BodySource): BodySource {
  const cut = request.kind === 'generate' ? request.cutTools : undefined
  return cut === undefined || cut.size === 0
    ? source
    : source.without('tools', (place) => cut.has(place))
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

const isReasoning = (item: unknown): boolean => isObject(item) && item['type'] === 'reasoning'

/** What a model of another wire thought, which the gateway sealed: this one cannot read it. */
function isSealed(item: unknown): boolean {
  if (!(isObject(item) && item['type'] === 'reasoning')) return false
  const { id } = item
  return typeof id === 'string' && id.startsWith(SEALED_REASONING)
}
