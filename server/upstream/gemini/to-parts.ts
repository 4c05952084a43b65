/** Ours → theirs: a message's content as parts. Empty text is left out, because Gemini refuses it. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import type { Part } from './wire.ts'

/** `path` is the field's path for errors. @throws UpstreamFailure `rejected` */
export function toParts(content: unknown, path: string): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  return readList(content).flatMap((part, index) => toPart(readObject(part), `${path}[${index}]`))
}

function toPart(part: JsonObject, path: string): readonly Part[] {
  switch (part['type']) {
    case 'text':
    case 'refusal': {
      const text = readText(part['text']) ?? readText(part['refusal'])
      return text === undefined ? [] : [{ text }]
    }
    case 'image_url':
      return [toMedia(readObject(part['image_url'])['url'], `${path}.image_url.url`)]
    case 'input_audio': {
      const { data, format } = readObject(part['input_audio'])
      return [toMedia(`data:audio/${format};base64,${data}`, `${path}.input_audio`)]
    }
    case 'file':
      return [toMedia(readObject(part['file'])['file_data'], `${path}.file.file_data`)]
    default:
      throw rejected(path, `a part of type ${JSON.stringify(part['type'])} cannot be sent`)
  }
}

/** The number of parameters is limited: with millions the pattern takes most of a second. */
const DATA_URL = /^data:([a-z]+\/[a-z0-9][a-z0-9.+-]{0,127})(?:;[^,;]{1,64}){0,8};base64,/i

/** A data URL is sent inline; an https URL is fetched by Google, never by the gateway. */
function toMedia(url: unknown, path: string): Part {
  const text = readText(url) ?? ''
  const head = DATA_URL.exec(text)
  if (head?.[1] !== undefined) {
    return { inlineData: { mimeType: head[1].toLowerCase(), data: text.slice(head[0].length) } }
  }
  if (!/^https:\/\//i.test(text)) throw rejected(path, 'must be a data URL or an https address')
  const mimeType = guessType(text)
  return { fileData: { fileUri: text, ...(mimeType !== undefined && { mimeType }) } }
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
}

/** By the file extension; without one Google detects the type. */
function guessType(address: string): string | undefined {
  const ending = /\.([a-z]{3,4})$/i.exec(URL.parse(address)?.pathname ?? '')?.[1]?.toLowerCase()
  return ending !== undefined && Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined
}

/** The images of an earlier answer, which the client sends back in `images`. */
export const toImageParts = (images: unknown, path: string): readonly Part[] =>
  readList(images)
    .filter(isObject)
    .map((image, index) => toMedia(readObject(image['image_url'])['url'], `${path}[${index}]`))
