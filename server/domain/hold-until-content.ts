/** Holds an answer back until content has come: before that, a failure can still fall back to the next offer (contract §7). */
import type { ChatEvent, ChatEvents, ChatRequest } from './chat.ts'
import type { Meter } from './meter.ts'
import { UpstreamFailure } from './upstream.ts'

/** What came meanwhile is handed on with the content. @throws UpstreamFailure when none comes */
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
    // Nobody will see it, but it may have cost the operator something.
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

/** A reason to finish is an answer too, if an empty one; to who asked for pictures only a picture is. */
const isContent = ({ type }: ChatEvent, { wantsImages }: ChatRequest): boolean =>
  wantsImages ? type === 'image' : type !== 'usage' && type !== 'answer-fields'

const noContent = ({ wantsImages }: ChatRequest): UpstreamFailure =>
  wantsImages ? noImage() : new UpstreamFailure('failed', 'it answered with nothing')

const noImage = (): UpstreamFailure => new UpstreamFailure('no-image', 'the answer holds no image')

/** @throws UpstreamFailure when pictures were asked for and none came */
export function demandImages(request: ChatRequest, meter: Meter): void {
  if (request.wantsImages && meter.images === 0) throw noImage()
}
