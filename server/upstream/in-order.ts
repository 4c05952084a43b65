/** The turns of a conversation in the order that other wires take: results follow their calls at once, in the order of the calls. */
import type { CallPart, Part, ResultPart, Turn } from '#domain/conversation.ts'

/** What one side says until the other does; what a user says beside results comes after all of them. */
export type Said = Instruction | Answer | Words

interface Instruction {
  readonly role: 'system'
  readonly parts: readonly Part[]
  /** Nobody has said anything before. */
  readonly isFirst: boolean
}

interface Answer {
  readonly role: 'assistant'
  readonly parts: Part[]
}

interface Words {
  readonly role: 'user'
  readonly results: readonly Answered[]
  readonly parts: Part[]
}

export interface Answered {
  readonly result: ResultPart
  /** Absent where it is none of the last ones. */
  readonly call?: CallPart
}

/** Every step takes the same time, however long the conversation is: one request must not hold up the others. */
export function inOrder(turns: readonly Turn[]): readonly Said[] {
  const said: Said[] = []
  let isFirst = true
  let calls: CallPart[] = []
  /** What stands between two answers: results, and what else was said, in order. */
  let results: ResultPart[] = []
  let others: (Instruction | Words)[] = []
  const flush = (): void => {
    append(toUsers(results, others, calls), said)
    results = []
    others = []
  }
  for (const { role, parts } of turns) {
    if (role === 'system') {
      others.push({ role, parts, isFirst })
      continue
    }
    isFirst &&= role === 'user' && parts.length === 0
    if (role === 'user') {
      append(parts.filter(isResult), results)
      addWords(parts, others)
      continue
    }
    flush()
    const called = parts.filter(isCall)
    const before = said.at(-1)
    // A call and its results are not parted by what else was said beside it.
    if (before?.role === 'assistant' && calls.length + called.length > 0) {
      append(parts, before.parts)
      append(called, calls)
    } else {
      calls = called
      said.push({ role, parts: [...parts] })
    }
  }
  flush()
  return said
}

const isCall = (part: Part): part is CallPart => part.type === 'call'
const isResult = (part: Part): part is ResultPart => part.type === 'result'

function append<One>(more: readonly One[], to: One[]): void {
  for (const one of more) to.push(one)
}

function addWords(parts: readonly Part[], into: (Instruction | Words)[]): void {
  const words = parts.filter((part) => !isResult(part))
  if (words.length === 0) return
  const last = into.at(-1)
  if (last?.role !== 'user') into.push({ role: 'user', results: [], parts: words })
  else append(words, last.parts)
}

/** Results follow their calls at once; instructions that came between them come later. */
function toUsers(
  results: readonly ResultPart[],
  others: readonly (Instruction | Words)[],
  calls: readonly CallPart[],
): readonly Said[] {
  if (results.length === 0) return others
  const answered = toAnswered(results, calls)
  const [first, ...rest] = others
  return first?.role === 'user'
    ? [{ ...first, results: answered }, ...rest]
    : [{ role: 'user', results: answered, parts: [] }, ...others]
}

function toAnswered(
  results: readonly ResultPart[],
  calls: readonly CallPart[],
): readonly Answered[] {
  const places = new Map<string | undefined, number>()
  for (const [place, { id }] of calls.entries()) if (!places.has(id)) places.set(id, place)
  const place = ({ callId }: ResultPart): number => places.get(callId) ?? calls.length
  return results
    .toSorted((one, other) => place(one) - place(other))
    .map((result) => {
      const call = calls[place(result)]
      return { result, ...(call && { call }) }
    })
}
