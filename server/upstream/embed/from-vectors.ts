/** Theirs → ours: the vectors of one answer, checked against the entries that were sent. */
import type { ChatEvent } from '#domain/chat.ts'
import { readObject } from '#domain/json.ts'
import type { Vector } from '#domain/result.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Embed } from '#domain/work.ts'
import type { Translated } from '../whole-answer.ts'
import { readVector, toFormat } from './vector.ts'

/** An answer in pieces. */
export type Passed = readonly (string | Uint8Array)[]

type UsageEvent = Extract<ChatEvent, { type: 'usage' }>

/** `pieces` are the answer as it came; they stand for the vectors where they say the same in the client's wire. */
export interface Answered {
  readonly values: readonly unknown[]
  readonly usage: UsageEvent | undefined
  readonly pieces?: Passed
}

/** Vectors of entries in their order. An answer without one for each entry is a failure, whose usage still counts. */
export function fromVectors({ values, usage, pieces }: Answered, request: Embed): Translated {
  const { input, encodingFormat } = request
  const counted: readonly ChatEvent[] = usage ? [usage] : []
  if (values.length !== input.length) {
    const problem = `it answered with ${values.length} vectors for ${input.length} entries`
    return { events: counted, failure: new UpstreamFailure('failed', problem) }
  }
  const vectors: Vector[] = []
  let isAsItCame = true
  for (const value of values) {
    const read = readVector(value)
    const vector = read && toFormat(read, encodingFormat ?? 'float')
    if (vector === undefined) {
      return { events: counted, failure: new UpstreamFailure('failed', 'a vector is not one') }
    }
    if (vector !== value) isAsItCame = false
    vectors.push(vector)
  }
  const passes = pieces !== undefined && isAsItCame
  const result: ChatEvent = passes
    ? { type: 'vectors', asTheyCame: pieces }
    : { type: 'vectors', vectors }
  return { events: [result, ...counted], failure: null }
}

/** The vectors of OpenAI's list, by their index; and whether they stood in that order. */
export function inOrder(list: readonly unknown[]): {
  readonly values: readonly unknown[]
  readonly wasInOrder: boolean
} {
  const values: unknown[] = []
  let wasInOrder = true
  for (const [position, entry] of list.entries()) {
    const { index = position, embedding } = readObject(entry)
    const place = typeof index === 'number' && index < list.length ? index : position
    if (place !== position) wasInOrder = false
    values[place] = embedding
  }
  return { values, wasInOrder }
}
