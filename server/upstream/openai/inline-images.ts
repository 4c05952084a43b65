/** Replaces remote image URLs in an answer by data URLs, so that only images whose bytes arrived are counted (contract §7). */
import { type CancelSignal, toAbortSignal } from '#domain/cancel.ts'
import type { ChatEvent } from '#domain/chat.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import type { FetchedImage } from '../guarded-fetch/fetch-image.ts'
import type { Translated } from '../whole-answer.ts'
import { isRemote } from './from-image.ts'

/** Null on any failure. */
export type FetchImage = (address: string, signal: AbortSignal) => Promise<FetchedImage | null>

/** Synchronous when nothing has to be fetched. */
export const inlineImages = (
  translated: Translated,
  fetchImage: FetchImage,
  signal: CancelSignal,
): MaybePromise<Translated> =>
  translated.events.some(isRemoteImage) ? inlineLater(translated, fetchImage, signal) : translated

/** One after the other, so that at most one is in memory twice; an image that cannot be fetched is dropped. */
async function inlineLater(
  { events, failure }: Translated,
  fetchImage: FetchImage,
  signal: CancelSignal,
): Promise<Translated> {
  const inlined: ChatEvent[] = []
  for (const event of events) {
    if (event.type !== 'image' || !isRemote(event.url)) {
      inlined.push(event)
      continue
    }
    const image = await fetchImage(event.url, toAbortSignal(signal))
    if (image !== null) inlined.push({ ...event, url: toDataUrl(image) })
  }
  return { events: inlined, failure }
}

const isRemoteImage = (event: ChatEvent): boolean => event.type === 'image' && isRemote(event.url)

const toDataUrl = ({ type, bytes }: FetchedImage): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
