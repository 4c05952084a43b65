/** Buffers an answer until content arrives; until then, a failure can fall back to the next offer (contract §7). */
import type { ChatEvent, ChatEvents, ChatRequest } from '../chat.ts'
import { UpstreamFailure } from '../upstream.ts'
import type { Meter } from './meter.ts'

/** The buffered events come first in the result. @throws UpstreamFailure if the answer ends without content */
export async function holdUntilContent(
  opening: Promise<AsyncIterable<ChatEvents>>,
  request: ChatRequest,
  meter: Meter,
): Promise<AsyncIterable<ChatEvents>> {
  const iterator = (await opening)[Symbol.asyncIterator]()
  const held: ChatEvents[] = []
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) throw noContent(request)
      held.push(value)
      if (value.some((event) => isContent(event, request))) return resume(held, iterator)
    }
  } catch (thrown) {
    // Discarded, but counted, because the provider may bill the operator for it.
    for (const batch of held) meter.note(batch)
    throw thrown
  }
}

async function* resume(
  held: readonly ChatEvents[],
  iterator: AsyncIterator<ChatEvents>,
): AsyncGenerator<ChatEvents, void> {
  yield* held
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

/** A finish reason counts as an (empty) answer; where images are requested, only an image does. */
const isContent = ({ type }: ChatEvent, { wantsImages }: ChatRequest): boolean =>
  wantsImages ? type === 'image' : !BESIDE_CONTENT.has(type)

/** An image is none where no image is requested: it is not delivered. */
const BESIDE_CONTENT: ReadonlySet<ChatEvent['type']> = new Set([
  'usage',
  'answer-fields',
  'choice-fields',
  'image',
])

const noContent = ({ wantsImages }: ChatRequest): UpstreamFailure =>
  wantsImages ? noImage() : new UpstreamFailure('failed', 'it answered with nothing')

const noImage = (): UpstreamFailure => new UpstreamFailure('no-image', 'the answer holds no image')

/** @throws UpstreamFailure if images were requested and none arrived */
export function requireImages(request: ChatRequest, meter: Meter): void {
  if (request.wantsImages && meter.images === 0) throw noImage()
}
