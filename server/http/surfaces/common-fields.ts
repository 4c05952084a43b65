/** Fields that mean the same on every surface: the model, the end user, and the gateway's own for routing (contract §7). */
import { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Routing } from '#domain/work.ts'
import { rejectKeyLike } from '../bearer.ts'
import { renderPath } from '../render-path.ts'

const MAX_FALLBACK_MODELS = 8
const MAX_PROVIDERS = 64
export const MAX_USER_CHARS = 256
export const MAX_MODEL_CHARS = 256
export const MAX_TOKENS = 2 ** 31 - 1

const name = z.string().max(MAX_MODEL_CHARS)
const providers = z.array(name).max(MAX_PROVIDERS).nullish()

/** Null means absent: client libraries send it for options that are not set. */
export const commonFields = {
  model: name,
  stream: z.boolean().nullish(),
  allow_fallbacks: z.boolean().nullish(),
  models: z.array(name).max(MAX_FALLBACK_MODELS).nullish(),
  provider: z
    .object({
      allow_fallbacks: z.boolean().nullish(),
      order: providers,
      only: providers,
      ignore: providers,
    })
    .nullish(),
}

export const tokensField = z.int().min(1).max(MAX_TOKENS).nullish()
export const userField = z.string().max(MAX_USER_CHARS).nullish()

const commonForm = z.object(commonFields)
export type CommonFields = z.output<typeof commonForm>

/** @throws invalid_request where a key stands in the place of a model */
export function checkModels({ model, models }: CommonFields): void {
  rejectKeyLike(model, 'model')
  if (models) for (const one of models) rejectKeyLike(one, 'models')
}

export const readFallbacks = ({ allow_fallbacks: own, provider }: CommonFields): boolean =>
  own ?? provider?.allow_fallbacks ?? true

/** Undefined where the request has no routing fields. */
export const readRouting = ({ models, provider }: CommonFields): Routing | undefined =>
  models || provider
    ? {
        models: models ?? [],
        order: provider?.order ?? [],
        only: provider?.only ?? [],
        ignore: provider?.ignore ?? [],
      }
    : undefined

/** The first thing that is wrong with the fields. */
export function toInvalidRequest(
  fields: JsonObject,
  issues: readonly z.core.$ZodIssue[],
): GatewayError {
  const issue = issues[0]
  const path = issue?.path ?? []
  const param = renderPath(path)
  // At the top level, only a required field can be missing.
  const isMissing = path.length === 1 && fields[String(path[0])] === undefined
  const problem = isMissing ? 'is required' : issue?.message
  return new GatewayError('invalid_request', `${param}: ${problem}`, { param })
}
