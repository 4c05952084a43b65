/** Brings remote pictures of an answer home: a client gets the bytes, and counts only those that came (contract §7). */
import { type CancelSignal, toAbortSignal } from '#domain/cancel.ts'
import type { ChatEvent } from '#domain/chat.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import type { Picture } from '../guarded-fetch/fetch-picture.ts'
import type { Translated } from '../whole-answer.ts'
import { isRemote } from './from-image.ts'

/** Null when there is none to be had, for whatever reason. */
export type FetchPicture = (address: string, signal: AbortSignal) => Promise<Picture | null>

/** The same answer, at once where nothing of it has to be fetched. */
export const inlinePictures = (
  translated: Translated,
  fetchPicture: FetchPicture,
  signal: CancelSignal,
): MaybePromise<Translated> =>
  translated.events.some(isRemoteImage) ? inlineLater(translated, fetchPicture, signal) : translated

/** One after the other, so that no more than one lies in memory twice; one that cannot be had is left out. */
async function inlineLater(
  { events, failure }: Translated,
  fetchPicture: FetchPicture,
  signal: CancelSignal,
): Promise<Translated> {
  const inlined: ChatEvent[] = []
  for (const event of events) {
    if (event.type !== 'image' || !isRemote(event.url)) {
      inlined.push(event)
      continue
    }
    const picture = await fetchPicture(event.url, toAbortSignal(signal))
    if (picture !== null) inlined.push({ ...event, url: toDataUrl(picture) })
  }
  return { events: inlined, failure }
}

const isRemoteImage = (event: ChatEvent): boolean => event.type === 'image' && isRemote(event.url)

const toDataUrl = ({ type, bytes }: Picture): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
