/** What is read alike on every surface: the model, the end user, the gateway's own fields for routing; images and files (contract §7). */
import { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Generate, Routing } from '#domain/work.ts'
import { messageFor } from '#forms/read-form.ts'
import { rejectKeyLike, rejectWholeKey } from '../bearer.ts'
import type { JsonBody } from '../read/body.ts'
import { checkImageUrl, MAX_INPUT_IMAGES } from '../read/image-url.ts'
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

export interface NamesEndUser {
  readonly user?: string | null | undefined
  readonly safety_identifier?: string | null | undefined
}

/** Null where no end user is named. @throws invalid_request where a key is */
export function readEndUser({ user, safety_identifier }: NamesEndUser): string | null {
  const endUser = user || safety_identifier
  if (!endUser) return null
  rejectWholeKey(endUser, user ? 'user' : 'safety_identifier')
  return toPlainName(endUser)
}

/** A NUL or half a surrogate pair tells no names apart: a store may have no text with one. */
export const toPlainName = (name: string): string => name.toWellFormed().replaceAll('\0', '\ufffd')

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
  // Of a huge number the field's own bound, and not that of all integers, which the parser reports first.
  const issue = issues.find((one) => !('origin' in one && one.origin === 'int')) ?? issues[0]
  const path = issue?.path ?? []
  const param = renderPath(path)
  // At the top level, only a required field can be missing.
  const isMissing = path.length === 1 && fields[String(path[0])] === undefined
  const problem = isMissing || !issue ? 'is required' : (messageFor(issue) ?? issue.message)
  return new GatewayError('invalid_request', `${param}: ${problem}`, { param })
}

/** Images and files in a request: how many there are, and how large. */
export class Attachments {
  /** Files and sound. Their tokens are of pages or seconds: no number of bytes bounds them, be they in the body or named in it. */
  files = 0
  /** Bytes of base64 of those in the body. */
  fileBytes = 0
  /** Input images. */
  count = 0
  /** Of those, images of earlier answers. */
  earlier = 0
  /** Bytes of base64 of images in the body. */
  bytes = 0
}

/** Counts an image that the client sends. `messages` is the field that they are all in. @throws invalid_image, too_many_images */
export function countImage(
  url: string,
  path: string,
  attachments: Attachments,
  messages: string,
): void {
  attachments.count++
  const own = attachments.count - attachments.earlier
  if (own > MAX_INPUT_IMAGES) throw tooMany(own, messages)
  attachments.bytes += checkImageUrl(url, path)
}

const tooMany = (images: number, param: string): GatewayError =>
  new GatewayError('too_many_images', `a request may carry at most ${MAX_INPUT_IMAGES} images`, {
    param,
    metadata: {
      limit: 'input_images',
      limit_value: MAX_INPUT_IMAGES,
      used: images,
      resets_at: null,
    },
  })

/** A request while it is read. */
export type Draft = { -readonly [Field in keyof Generate]: Generate[Field] }

/** Notes what the attachments leave of the text, and what else is not there in most requests. */
export function noteSizes(request: Draft, body: JsonBody, attachments: Attachments): void {
  const { files, fileBytes, earlier } = attachments
  const spelled = body.spelledSize()
  if (spelled !== null) {
    request.textSize = {
      bytes: Math.max(0, spelled.bytes - attachments.bytes),
      dense: spelled.dense,
    }
  }
  if (files > 0) request.isUnbounded = true
  if (fileBytes > 0) request.fileBytes = fileBytes
  if (earlier > 0) request.earlierImages = earlier
}
