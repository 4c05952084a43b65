/** Part `translate`: CPU of one chunk of a long stream, translated from each wire, beside the same bytes passed through. */
import { compare } from './compare.ts'
import type { AnswerRoute, Part } from './rig.ts'
import { CHUNKS } from './wires.ts'

const WIRES = [
  ['openai', 'openai-compatible'],
  ['anthropic', 'anthropic'],
  ['gemini', 'google'],
] as const

/** As a model writes: so few at once that neither process is ever behind, and every chunk travels alone. */
const PACED_CONNECTIONS = 8

const route = (wire: string, type: string, pace: 'rush' | 'paced'): AnswerRoute => ({
  name: `${wire}-${pace}`,
  type,
  stream: true,
})

export const translate: Part = {
  answers: WIRES.flatMap(([wire, type]) => [route(wire, type, 'paced'), route(wire, type, 'rush')]),
  async run(rig, { rounds, seconds, connections }) {
    for (const [pace, heading, effort] of [
      [
        'paced',
        `one chunk a millisecond, ${PACED_CONNECTIONS} streams`,
        { rounds, connections: PACED_CONNECTIONS, until: { answers: PACED_CONNECTIONS } },
      ],
      [
        'rush',
        `fifty chunks at once, ${connections} streams`,
        { rounds, connections, until: { seconds } },
      ],
    ] as const) {
      console.log(`\n${heading}, ${CHUNKS} chunks each: µs of CPU per chunk`)
      for (const [wire, type] of WIRES) {
        const figures = await compare(rig, route(wire, type, pace), effort)
        const perChunk = (which: 'bare' | 'gateway'): string =>
          (figures.of(which, 'cpuMicros') / CHUNKS).toFixed(2).padStart(6)
        console.log(
          `  ${wire.padEnd(10)} bare ${perChunk('bare')}   gateway ${perChunk('gateway')}   ` +
            `gateway / bare ${figures.ratio('cpuMicros', 'gateway', 'bare').toFixed(2)}`,
        )
      }
    }
    return true
  },
}
