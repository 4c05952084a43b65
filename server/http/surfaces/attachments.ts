/** Images and files in a request: how many there are and how large, whichever surface they came to. */
import { GatewayError } from '#domain/errors.ts'
import type { Generate } from '#domain/work.ts'
import { checkImageUrl, MAX_INPUT_IMAGES } from '../read/image-url.ts'
import type { JsonBody } from '../read/json-body.ts'

export interface Attachments {
  /** Parts that refer to a file by URL or id, whose size is unknown. */
  named: number
  /** Bytes of base64 of files and audio in the body. */
  fileBytes: number
  /** Input images. */
  count: number
  /** Of those, images of earlier answers. */
  earlier: number
  /** Bytes of base64 of images in the body. */
  bytes: number
}

export const noAttachments = (): Attachments => ({
  named: 0,
  fileBytes: 0,
  count: 0,
  earlier: 0,
  bytes: 0,
})

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
  const { named, fileBytes, earlier } = attachments
  const spelled = body.spelledSize()
  if (spelled !== null) {
    request.textSize = {
      bytes: Math.max(0, spelled.bytes - attachments.bytes),
      dense: spelled.dense,
    }
  }
  if (named > 0) request.isUnbounded = true
  if (fileBytes > 0) request.fileBytes = fileBytes
  if (earlier > 0) request.earlierImages = earlier
}
