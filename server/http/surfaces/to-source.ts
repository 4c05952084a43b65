/** Where the data of an image or a file is: in a data URL, or at an address. */
import type { Source } from '#domain/conversation.ts'
import { readText } from '#domain/json.ts'

/** The number of parameters is limited: with millions the pattern takes most of a second. */
const DATA_URL = /^data:([a-z]+\/[a-z0-9][a-z0-9.+-]{0,127})(?:;[^,;]{1,64}){0,8};base64,/i

export function toSource(url: unknown): Source {
  const text = readText(url)
  if (text === undefined) return { type: 'reference' }
  const head = DATA_URL.exec(text)
  if (head?.[1] === undefined) return { type: 'url', url: text }
  return {
    type: 'base64',
    mediaType: head[1].toLowerCase(),
    data: text.slice(head[0].length),
  }
}
