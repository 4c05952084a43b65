/** A model, and a page of models, in the form of Anthropic's API (contract §6). */
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { ModelCard } from '#domain/model-card.ts'
import { unknownCursor } from '../unknown-cursor.ts'

/** A model by its id, or by another name of it. */
type Named = readonly [name: string, card: ModelCard]

export const renderMessagesModel = ([name, card]: Named) => ({
  type: 'model',
  id: name,
  display_name: card.name,
  created_at: renderInstant(card.createdAt),
  max_input_tokens: card.contextLength,
  max_tokens: card.maxCompletionTokens,
  capabilities: null,
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
})

interface Page {
  readonly limit: number
  readonly afterId: string | undefined
  readonly beforeId: string | undefined
}

export const MAX_PAGE = 1_000
export const USUAL_PAGE = 20

/** @throws invalid_request */
export function readPage(query: Readonly<Record<string, string>>): Page {
  const stated = query['limit']
  const limit = stated === undefined ? USUAL_PAGE : Number(stated)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
    throw new GatewayError('invalid_request', `limit: send a number from 1 to ${MAX_PAGE}`, {
      param: 'limit',
    })
  }
  return { limit, afterId: query['after_id'], beforeId: query['before_id'] }
}

/** @throws invalid_request where what it is to follow or to precede is not listed, or no longer */
export function renderPage(models: readonly Named[], { limit, afterId, beforeId }: Page) {
  const placeOf = (param: string, id: string): number => {
    const place = models.findIndex(([name]) => name === id)
    if (place < 0) throw unknownCursor(param)
    return place
  }
  const from = afterId === undefined ? 0 : placeOf('after_id', afterId) + 1
  const to = beforeId === undefined ? models.length : placeOf('before_id', beforeId)
  const rest = models.slice(from, to)
  const page =
    afterId === undefined && beforeId !== undefined ? rest.slice(-limit) : rest.slice(0, limit)
  return {
    data: page.map(renderMessagesModel),
    has_more: page.length < rest.length,
    first_id: page[0]?.[0] ?? null,
    last_id: page.at(-1)?.[0] ?? null,
  }
}
