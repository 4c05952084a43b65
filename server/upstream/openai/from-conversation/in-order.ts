/** The turns of a conversation in the order that OpenAI's wires take: results follow their calls at once, in the order of the calls. */
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
  let pending: Part[] = []
  const flush = (): void => {
    if (pending.length > 0) said.push(toUser(pending, calls))
    pending = []
  }
  for (const { role, parts } of turns) {
    if (role === 'user') {
      pending.push(...parts)
      continue
    }
    flush()
    if (role === 'system') {
      said.push({ role, parts, isFirst: said.every((one) => one.role === 'system') })
      continue
    }
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

function toUser(parts: readonly Part[], calls: readonly CallPart[]): Said {
  const place = ({ callId }: ResultPart): number => {
    const index = calls.findIndex(({ id }) => id === callId)
    return index < 0 ? calls.length : index
  }
  const results = parts
    .filter((part) => part.type === 'result')
    .toSorted((one, other) => place(one) - place(other))
    .map((result) => {
      const call = calls[place(result)]
      return { result, ...(call && { call }) }
    })
  return { role: 'user', results, parts: parts.filter((part) => part.type !== 'result') }
}
