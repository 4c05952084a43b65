/** An image in a request: a data URL with valid base64, or an https URL that the provider may fetch. */
import { GatewayError } from '#domain/errors.ts'
import { isBase64 } from '#runtime/base64.ts'

export const MAX_INPUT_IMAGES = 16
const MAX_ADDRESS_CHARS = 8_192
const DATA_URL = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63};base64,/i

/** Returns how many bytes of the body are base64. @throws invalid_image */
export function checkImageUrl(url: string, param: string): number {
  if (url.startsWith('https://')) {
    if (url.length <= MAX_ADDRESS_CHARS && URL.canParse(url)) return 0
    throw invalidImage(param, 'is no https address')
  }
  const head = DATA_URL.exec(url)?.[0]
  if (head === undefined) {
    throw invalidImage(param, 'must be "data:image/<type>;base64,<data>" or an https address')
  }
  const data = url.slice(head.length)
  if (data.length % 4 !== 0 || !isBase64(data)) throw invalidImage(param, 'is not valid base64')
  return data.length
}

/**
 * The same for an image of an earlier answer that the client sends back. Null if it is not a valid image; it is then passed
 * through, and counted as text in the hold.
 */
export function readEarlierImage(url: string): number | null {
  if (url.startsWith('https://')) return 0
  const head = DATA_URL.exec(url)?.[0]
  if (head === undefined) return null
  const data = url.slice(head.length)
  return isBase64(data) ? data.length : null
}

const invalidImage = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_image', `${param} ${problem}`, { param })
