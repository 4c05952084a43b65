/** Part `image`: CPU of a whole answer of 2 MB that holds an image, in each shape, beside the same bytes passed through. */
import { compare } from './compare.ts'
import type { AnswerRoute, Part } from './rig.ts'

/** How a provider of each type sends an image: inside a part, in a chat message, by the images API. */
export const IMAGE_ROUTES: readonly AnswerRoute[] = [
  { name: 'inline-data', type: 'google', stream: false, draws: true },
  { name: 'message-images', type: 'openrouter', stream: false, draws: true },
  { name: 'b64-json', type: 'openai', stream: false, draws: true, upstream: 'gpt-image-1' },
]

/** An image takes a while: few are drawn at once. */
const CONNECTIONS = 8

export const image: Part = {
  answers: IMAGE_ROUTES,
  async run(rig, { rounds, seconds }) {
    console.log(
      `\n${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s: ms of CPU per answer`,
    )
    for (const route of IMAGE_ROUTES) {
      const effort = { rounds, connections: CONNECTIONS, until: { seconds } }
      const figures = await compare(rig, route, effort)
      const millis = (which: 'bare' | 'gateway'): string =>
        (figures.of(which, 'cpuMicros') / 1000).toFixed(2).padStart(5)
      console.log(
        `  ${route.name.padEnd(15)} bare ${millis('bare')}   gateway ${millis('gateway')}   ` +
          `gateway / bare ${figures.ratio('cpuMicros', 'gateway', 'bare').toFixed(2)}`,
      )
    }
    return true
  },
}
