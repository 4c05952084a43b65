/** One entry of a message's `images`: a data URL (contract §7). */
import { isBase64 } from '#runtime/base64.ts'

const HEAD = /^data:[a-z0-9.+/-]{1,80};base64,/i

/** Its JSON in pieces; a URL that needs no escaping is a piece of its own, so that it is not copied. */
export function renderImage(url: string, index: number): readonly string[] {
  const head = HEAD.exec(url)?.[0]
  const isPlain = head !== undefined && isBase64(url.slice(head.length))
  const opening = '{"type":"image_url","image_url":{"url":'
  const ending = `},"index":${index}}`
  return isPlain
    ? [`${opening}"`, url, `"${ending}`]
    : [`${opening}${JSON.stringify(url)}${ending}`]
}
