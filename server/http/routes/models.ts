/** GET /v1/models and GET /v1/models/{id}, restricted to what the key may call (contract §6). Takes no slot. */
import type { Catalogue } from '#domain/catalogue.ts'
import { mayCall } from '#domain/key.ts'
import { type ModelCard, outputsOf } from '#domain/model-card.ts'
import { findCard } from '#domain/walk/offer.ts'
import { findCaller, rejectKeyLike, requireOrdinary } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { type RequestContext, readQuota, renderJson } from '../request-context.ts'
import { renderCard } from '../wire/render-card.ts'
import { readPage, renderMessagesModel, renderPage } from '../wire/render-messages-model.ts'

interface ModelFilter {
  /** `?output_modalities=image,text`: a model must support all of them. */
  readonly outputModalities: readonly string[]
  /** `?q=`: words of the id, name or description. */
  readonly words: readonly string[]
}

/** Reads the filters of a query; an empty one filters nothing. */
const readModelFilter = (query: Readonly<Record<string, string>>): ModelFilter => ({
  outputModalities: split(query['output_modalities'], ','),
  words: split(query['q']?.toLowerCase(), ' '),
})

const split = (text: string | undefined, separator: string): readonly string[] =>
  (text ?? '').split(separator).filter((part) => part.trim() !== '')

function passes(name: string, card: ModelCard, { outputModalities, words }: ModelFilter): boolean {
  const outputs: readonly string[] = outputsOf(card)
  if (!outputModalities.every((modality) => outputs.includes(modality.trim()))) return false
  const text = `${name} ${card.id} ${card.name} ${card.description}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

export async function listModels(
  deps: ApiDeps,
  context: RequestContext,
  query: Readonly<Record<string, string>>,
): Promise<Response> {
  const { key } = requireOrdinary(await findCaller(deps, context))
  const listed = namesIn(deps.store.catalogue.current())
  await readQuota(deps, context)
  const filter = readModelFilter(query)
  const found = listed
    .filter(([, card]) => mayCall(key, card.id))
    .filter(([name, card]) => passes(name, card, filter))
  if (asksAsAnthropic(context)) return renderJson(context, renderPage(found, readPage(query)))
  const at = deps.clock.now()
  const data = found.map(([name, card]) => renderCard(card, at, name))
  return renderJson(context, { object: 'list', data })
}

/** Every model by its id, then every alias as a model of its own. */
function namesIn({ models, aliases }: Catalogue): readonly (readonly [string, ModelCard])[] {
  const named = [...aliases].map(([name, id]) => [name, models.get(id)] as const)
  return [...models, ...named.flatMap(([name, card]) => (card ? [[name, card] as const] : []))]
}

/** By its id or another name of it. @throws model_not_allowed before model_not_found, so that a key cannot probe the catalogue */
export async function showModel(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const { key } = requireOrdinary(await findCaller(deps, context))
  rejectKeyLike(id, 'model')
  const catalogue = deps.store.catalogue.current()
  const isAnthropic = asksAsAnthropic(context)
  const card = findCard(catalogue, key, isAnthropic ? 'messages' : 'chat', id)
  const name = catalogue.aliases.has(id) ? id : card.id
  await readQuota(deps, context)
  return renderJson(
    context,
    isAnthropic ? renderMessagesModel([name, card]) : renderCard(card, deps.clock.now(), name),
  )
}

/** Its libraries send the version with every request. */
const asksAsAnthropic = ({ request }: RequestContext): boolean =>
  request.headers.has('anthropic-version')
