/** GET /v1/models and GET /v1/models/{id}, restricted to what the key may call (contract §6). Takes no slot. */
import { allows } from '#domain/key.ts'
import { type ModelCard, outputsOf } from '#domain/model-card.ts'
import { findCard } from '#domain/walk/offer.ts'
import { findCaller, rejectKeyLike, requireOrdinary } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, readQuota, renderJson } from '../request-context.ts'
import { renderCard } from '../wire/render-card.ts'

export interface ModelFilter {
  /** `?output_modalities=image,text`: a model must support all of them. */
  readonly outputModalities: readonly string[]
  /** `?q=`: words of the id, name or description. */
  readonly words: readonly string[]
}

/** Reads the filters of a query; an empty one filters nothing. */
export const readModelFilter = (query: Readonly<Record<string, string>>): ModelFilter => ({
  outputModalities: split(query['output_modalities'], ','),
  words: split(query['q']?.toLowerCase(), ' '),
})

const split = (text: string | undefined, separator: string): readonly string[] =>
  (text ?? '').split(separator).filter((part) => part.trim() !== '')

function passes(card: ModelCard, { outputModalities, words }: ModelFilter): boolean {
  const outputs: readonly string[] = outputsOf(card)
  if (!outputModalities.every((modality) => outputs.includes(modality.trim()))) return false
  const text = `${card.id} ${card.name} ${card.description}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

export async function listModels(
  deps: ApiDeps,
  context: RequestContext,
  filter: ModelFilter,
): Promise<Response> {
  const key = requireOrdinary(await findCaller(deps, context))
  const cards = [...deps.store.catalogue.current().models.values()]
  await readQuota(deps, context)
  const at = deps.clock.now()
  const data = cards
    .filter((card) => allows(key.limits.allowedModels, card.id) && passes(card, filter))
    .map((card) => renderCard(card, at))
  return renderJson(context, { object: 'list', data })
}

/** @throws model_not_allowed before model_not_found, so that a key cannot probe the catalogue */
export async function showModel(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const key = requireOrdinary(await findCaller(deps, context))
  rejectKeyLike(id, 'model')
  const card = findCard(deps.store.catalogue.current(), key, id)
  await readQuota(deps, context)
  return renderJson(context, renderCard(card, deps.clock.now()))
}
