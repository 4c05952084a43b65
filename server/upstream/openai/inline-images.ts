/** Replaces remote image URLs in an answer by data URLs, so that only images whose bytes arrived are counted (contract §7). */
import { type CancelSignal, toAbortSignal } from '#domain/cancel.ts'
import type { ChatEvent } from '#domain/chat.ts'
import type { FetchedImage } from '../guarded-fetch/fetch-image.ts'
import type { Translated } from '../whole-answer.ts'
import { isRemote } from './from-image.ts'

/** Null on any failure. */
export type FetchImage = (address: string, signal: AbortSignal) => Promise<FetchedImage | null>

/** As long as a whole answer may be. */
const MOST_INLINED_CHARS = 64 * 1_048_576

/**
 * One after the other, so that at most one is in memory twice. An image that cannot be fetched is dropped, and so are those
 * after `mostChars` of data URLs: an answer may name any number of them.
 */
export async function inlineImages(
  translated: Translated,
  fetchImage: FetchImage,
  signal: CancelSignal,
  mostChars = MOST_INLINED_CHARS,
): Promise<Translated> {
  const { events, failure } = translated
  if (!events.some(isRemoteImage)) return translated
  const inlined: ChatEvent[] = []
  let chars = 0
  for (const event of events) {
    if (event.type !== 'image' || !isRemote(event.url)) {
      inlined.push(event)
      continue
    }
    if (chars >= mostChars) continue
    const image = await fetchImage(event.url, toAbortSignal(signal))
    if (image === null) continue
    const url = toDataUrl(image)
    chars += url.length
    inlined.push({ ...event, url })
  }
  return { events: inlined, failure }
}

const isRemoteImage = (event: ChatEvent): boolean => event.type === 'image' && isRemote(event.url)

const toDataUrl = ({ type, bytes }: FetchedImage): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
