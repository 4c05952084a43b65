/** The turns of a conversation in the order that other wires take: results follow their calls at once, in the order of the calls. */
import type { CallPart, Part, ResultPart, Turn } from '#domain/conversation.ts'

/** What one side says until the other does; what a user says beside results comes after all of them. */
export type Said =
  /** `isFirst`: nobody has said anything before. */
  | { readonly role: 'system'; readonly parts: readonly Part[]; readonly isFirst: boolean }
  | { readonly role: 'assistant'; readonly parts: readonly Part[] }
  | {
      readonly role: 'user'
      readonly results: readonly Answered[]
      readonly parts: readonly Part[]
    }

export interface Answered {
  readonly result: ResultPart
  /** Absent where it is none of the last ones. */
  readonly call?: CallPart
}

export function inOrder(turns: readonly Turn[]): readonly Said[] {
  const said: Said[] = []
  let calls: readonly CallPart[] = []
  /** What stands between two answers: results, and what else was said, in order. */
  let results: ResultPart[] = []
  let others: Said[] = []
  const flush = (): void => {
    said.push(...toUsers(results, others, calls))
    results = []
    others = []
  }
  for (const { role, parts } of turns) {
    if (role === 'user') {
      results.push(...parts.filter((part) => part.type === 'result'))
      addWords(parts, others)
      continue
    }
    if (role === 'system') {
      const before = [...said, ...others]
      const isFirst = results.length === 0 && before.every((one) => one.role === 'system')
      others.push({ role, parts, isFirst })
      continue
    }
    flush()
    const before = said.at(-1)
    const called = parts.filter(isCall)
    // A call and its results are not parted by what else was said beside it.
    const isOne = before?.role === 'assistant' && calls.length + called.length > 0
    if (isOne) said.pop()
    calls = isOne ? [...calls, ...called] : called
    said.push({ role, parts: isOne ? [...before.parts, ...parts] : parts })
  }
  flush()
  return said
}

const isCall = (part: Part): part is CallPart => part.type === 'call'

function addWords(parts: readonly Part[], into: Said[]): void {
  const words = parts.filter((part) => part.type !== 'result')
  if (words.length === 0) return
  const last = into.at(-1)
  if (last?.role !== 'user') into.push({ role: 'user', results: [], parts: words })
  else into[into.length - 1] = { ...last, parts: [...last.parts, ...words] }
}

/** Results follow their calls at once; instructions that came between them come later. */
function toUsers(
  results: readonly ResultPart[],
  others: readonly Said[],
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
  const place = ({ callId }: ResultPart): number => {
    const index = calls.findIndex(({ id }) => id === callId)
    return index < 0 ? calls.length : index
  }
  return results
    .toSorted((one, other) => place(one) - place(other))
    .map((result) => {
      const call = calls[place(result)]
      return { result, ...(call && { call }) }
    })
}
