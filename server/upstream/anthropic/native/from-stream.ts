/** The events of a stream, each followed by its own text; those that may have to wait for the receipt are marked. */
import type { NativeEvent } from '#domain/chat.ts'
import type { Scrub } from '../../scrub.ts'
import type { SseEvent } from '../../sse.ts'
import type { Translation } from '../../stream.ts'
import { startStream } from '../from-stream.ts'

export function startNativeStream(scrub: Scrub): Translation {
  const translation = startStream(scrub)
  return {
    keepsText: true,
    take(events, batch) {
      for (const event of events) {
        const isEnd = translation.take([event], batch)
        batch.push(toNative(event, isEnd))
        if (isEnd) return true
      }
      return false
    },
    close: (batch) => translation.close(batch),
  }
}

function toNative(event: SseEvent, isEnd: boolean): NativeEvent {
  const { text = '' } = event
  if (isEnd) return { type: 'native', text, holds: 'end' }
  return holdsUsage(event) ? { type: 'native', text, holds: 'usage' } : { type: 'native', text }
}

/** The name stands beside the data too. Some servers leave it out there. */
const holdsUsage = ({ event, data }: SseEvent): boolean =>
  event === undefined ? data.includes('"message_delta"') : event === 'message_delta'
