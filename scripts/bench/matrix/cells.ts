/** What is asked in a cell of the matrix: a kind of answer, a size of prompt, so many connections. */
import type { Until } from '../load.ts'
import type { AnswerRoute } from '../rig.ts'
import { BURST_CHUNKS, PACED_CHUNKS, TRICKLE_CHUNKS } from '../wires.ts'

export interface Kind {
  readonly name: 'whole' | 'stream' | 'paced' | 'held'
  readonly title: string
  readonly route: AnswerRoute
  /** Of one answer; 0 when it is whole. */
  readonly chunks: number
}

export interface Cell {
  readonly kind: Kind
  readonly promptKilobytes: number
  readonly connections: number
}

/** What the operator may narrow. */
export interface Grid {
  readonly kinds: readonly string[]
  readonly promptKilobytes: readonly number[]
  readonly connections: readonly number[]
}

export const KINDS: readonly Kind[] = [
  {
    name: 'whole',
    title: 'whole answers',
    route: { name: 'words', type: 'openai-compatible', stream: false },
    chunks: 0,
  },
  {
    name: 'stream',
    title: `streams of ${BURST_CHUNKS} chunks, back to back`,
    route: { name: 'each-at-once', type: 'openai-compatible', stream: true },
    chunks: BURST_CHUNKS,
  },
  {
    name: 'paced',
    title: `streams of ${PACED_CHUNKS} chunks, one each 20 ms`,
    route: { name: 'one-by-one', type: 'openai-compatible', stream: true },
    chunks: PACED_CHUNKS,
  },
  {
    name: 'held',
    title: `streams of ${TRICKLE_CHUNKS} chunks, one each tenth of a second`,
    route: { name: 'trickle', type: 'openai-compatible', stream: true },
    chunks: TRICKLE_CHUNKS,
  },
]

export function cellsOf({ kinds, promptKilobytes, connections }: Grid): readonly Cell[] {
  return KINDS.filter(({ name }) => kinds.includes(name)).flatMap((kind) =>
    sizesFor(kind, promptKilobytes).flatMap((size) =>
      countsFor(kind, connections).map((count) => ({
        kind,
        promptKilobytes: size,
        connections: count,
      })),
    ),
  )
}

/** Of streams that have pauses it is asked how many there may be and how soon they begin, so that one prompt is enough. */
const sizesFor = ({ name }: Kind, sizes: readonly number[]): readonly number[] =>
  name === 'paced' || name === 'held' ? [Math.min(...sizes)] : sizes

/** Held streams are a question of how many. */
const countsFor = ({ name }: Kind, counts: readonly number[]): readonly number[] =>
  name === 'held' ? [Math.max(...counts)] : counts

/** A held stream takes as long as it takes: each connection has one. */
export const untilOf = ({ kind, connections }: Cell, seconds: number): Until =>
  kind.name === 'held' ? { answers: connections } : { seconds }

export const titleOf = ({ kind, promptKilobytes, connections }: Cell): string =>
  `${kind.title}, ${promptKilobytes} KB prompt, ${connections} connection${connections === 1 ? '' : 's'}`
