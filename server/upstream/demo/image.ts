/** demo/image draws a PNG that depends only on the prompt; `image_config.size` is its size, else 256x256. */
import type { ChatEvents } from '#domain/chat.ts'
import { pause } from '#domain/clock.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Work } from '#domain/work.ts'
import { requireGenerate } from '../rejected.ts'
import { readPace } from './pace.ts'
import { toPainting } from './painting.ts'
import { encodePng } from './png.ts'
import { everyChoice, lastUserText, usageOf } from './words.ts'

const USUAL_PIXELS = 256
const MIN_PIXELS = 16
const MAX_PIXELS = 1_024

/** One image per choice; `user` may delay it (`delay-500`). */
export async function* answerImage(call: UpstreamCall): AsyncGenerator<ChatEvents, void> {
  const { request } = call
  await pause(readPace(request.endUser).delayMs, call.signal)
  const url = `data:image/png;base64,${draw(request).toString('base64')}`
  yield [
    ...everyChoice(call, (choice) => ({ type: 'image', choice, url })),
    ...everyChoice(call, (choice) => ({ type: 'finish', choice, reason: 'stop', native: 'stop' })),
    { type: 'usage', usage: usageOf(request, 0) },
  ]
}

function draw(request: Work): Buffer {
  const { width, height } = readSize(request)
  return encodePng(width, height, toPainting(lastUserText(request), width, height))
}

function readSize(request: Work): { readonly width: number; readonly height: number } {
  const { size = '' } = requireGenerate(request).conversation().drawing
  const sides = /^(\d{1,5})x(\d{1,5})$/.exec(size)
  return { width: toPixels(sides?.[1]), height: toPixels(sides?.[2]) }
}

const toPixels = (side: string | undefined): number =>
  side === undefined ? USUAL_PIXELS : Math.min(Math.max(Number(side), MIN_PIXELS), MAX_PIXELS)
