/** The input of a Responses request: its images and files are counted, and references to what nobody stored are found. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { isObject } from '#domain/json.ts'
import { refuseKeptPart } from '../kept-objects.ts'
import { type Attachments, countImage } from '../read-common.ts'

const MAX_ITEMS = 10_000

/** Indices of items that are cut: references to reasoning, of which nothing is stored. @throws invalid_request, unsupported_parameter, invalid_image, too_many_images */
export function readInput(input: unknown, attachments: Attachments): ReadonlySet<number> {
  const cut = new Set<number>()
  if (typeof input === 'string') return cut
  if (!Array.isArray(input)) throw invalid('input', 'must be a string or an array of items')
  if (input.length > MAX_ITEMS) throw invalid('input', `may hold at most ${MAX_ITEMS} items`)
  for (const [index, item] of input.entries()) {
    const path = `input[${index}]`
    if (!isObject(item)) throw invalid(path, 'must be an object')
    if (isReference(item)) {
      if (!isReasoning(item)) throw unresolved(path)
      cut.add(index)
    } else readItem(item, path, attachments)
  }
  return cut
}

/** An item that is there by its id alone. OpenAI takes one without a type for a reference, and a drawing without its data. */
function isReference({ type, role, result }: JsonObject): boolean {
  if (type === 'image_generation_call') return typeof result !== 'string'
  return type === 'item_reference' || ((type ?? null) === null && role === undefined)
}

/** The Vercel AI SDK refers to reasoning so, unless it is told not to; the answer is right without it. */
const isReasoning = ({ id }: JsonObject): boolean => typeof id === 'string' && id.startsWith('rs_')

const unresolved = (path: string): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    `${path}: no answer is stored here, so nothing can be referred to; send the item itself (in the Vercel AI SDK: store: false)`,
    { param: path },
  )

/** Messages, results of tools, and screenshots have parts. */
function readItem(item: JsonObject, path: string, attachments: Attachments): void {
  for (const field of ['content', 'output'] as const) {
    const held = item[field]
    if (Array.isArray(held)) {
      for (const [index, part] of held.entries()) {
        if (isObject(part)) readPart(part, `${path}.${field}[${index}]`, attachments)
      }
    } else if (isObject(held)) readPart(held, `${path}.${field}`, attachments)
  }
}

function readPart(part: JsonObject, path: string, attachments: Attachments): void {
  const { type, image_url: url } = part
  const isImage = type === 'input_image' || type === 'computer_screenshot'
  if (isImage && typeof url === 'string') {
    countImage(url, `${path}.image_url`, attachments, 'input')
  }
  refuseKeptPart(part, path)
  if (isImage) {
    if (typeof url !== 'string') throw invalid(`${path}.image_url`, 'must be a string')
  } else if (typeof type === 'string' && type.startsWith('input_') && type !== 'input_text') {
    attachments.files++
    attachments.fileBytes += inlineChars(part)
  }
}

/** Bytes of base64 in a part; 0 if it only refers to a file. */
function inlineChars({ file_data: file, file_url: address, input_audio: sound }: JsonObject) {
  const data = isObject(sound) ? sound['data'] : file
  return typeof data === 'string' && !address ? data.length : 0
}

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })
